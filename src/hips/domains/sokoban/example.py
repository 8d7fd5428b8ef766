"""A level unlike the sampled ones, on which to compare methods."""

from __future__ import annotations

from hips.domains.records import Example

MAZE = Example(
    """\
##########
# #   @ ##
#.### #  #
# #   # ##
# #   ####
#     $ ##
# ##### ##
#       ##
####### ##
##########
""",
    "A maze of long corridors with one box",
)

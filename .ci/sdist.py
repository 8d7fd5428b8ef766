"""Builds a reproducible source distribution: the same commit gives the same bytes.

The build backend writes times, owners and an order of its own into the archive; they are replaced
by the commit's. Everything is done twice, from two checkouts, and the hashes are compared.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def commit_time() -> int:
    """Seconds since 1970 of the commit, or `SOURCE_DATE_EPOCH` if it is set."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    command = ["git", "log", "-1", "--format=%ct"]
    return int(given or subprocess.check_output(command, cwd=ROOT, text=True))


def check_out(folder: Path) -> None:
    """Extracts the committed files into `folder`."""
    archive = subprocess.check_output(["git", "archive", "--format=tar", "HEAD"], cwd=ROOT)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def build(folder: Path) -> Path:
    """The source distribution of a checkout, as the backend makes it."""
    check_out(folder)
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", "made"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (found,) = (folder / "made").glob("*.tar.gz")
    return found


def normalised(path: Path, seconds: int) -> bytes:
    """The archive with sorted members, one time and no owner."""
    tar = io.BytesIO()
    with (
        tarfile.open(path) as source,
        tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for member in sorted(source.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            target.addfile(member, source.extractfile(member) if member.isfile() else None)
    return gzip.compress(tar.getvalue(), mtime=seconds)


def main() -> None:
    """Builds twice; writes the archive to `dist` if both are equal, fails if not."""
    archives: list[bytes] = []
    name = ""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            made = build(Path(folder))
            name = made.name
            archives.append(normalised(made, commit_time()))
    digests = [hashlib.sha256(archive).hexdigest() for archive in archives]
    if digests[0] != digests[1]:
        sys.exit(f"{name} is not reproducible: {digests[0]} and {digests[1]}")
    (ROOT / "dist").mkdir(exist_ok=True)
    (ROOT / "dist" / name).write_bytes(archives[0])
    print(f"{digests[0]}  dist/{name}")


if __name__ == "__main__":
    main()

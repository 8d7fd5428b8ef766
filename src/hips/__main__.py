"""`python -m hips`: the same as the `hips` command."""

from hips.cli import main

if __name__ == "__main__":
    main()

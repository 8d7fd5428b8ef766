"""Runs benchmarks: `python -m benchmarks [NAME [OPTIONS]]`, all of them without a name."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    """Modules of this folder that can be run."""
    modules = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return [name for name in modules if not name.startswith("_")]


def main() -> int:
    chosen, options = sys.argv[1:2], sys.argv[2:]
    unknown = [name for name in chosen if name not in names()]
    if unknown:
        sys.stderr.write(f"Unknown benchmark '{unknown[0]}'. Available: {', '.join(names())}.\n")
        return 2
    for name in chosen or names():
        module = importlib.import_module(f"benchmarks.{name}")
        sys.argv = [f"benchmarks {name}", *options]
        sys.stdout.write(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}\n\n")
        module.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Commands in processes forked from one warm process, so that hundreds of them cost little.

`python -m tests.attack.commands` imports the command line once. For every line of its standard
input, a JSON list of words and a folder, it forks a process that becomes a session of its own and
runs the command there; it answers with the process's id, and later with its exit status.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
UNEXPECTED = 70
"""Exit code of a command that ends with a traceback."""


class Commands:
    """Starts `hips` commands; use it as a context manager."""

    def __enter__(self) -> Commands:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.attack.commands"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *details: object) -> None:
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait()

    def _ask(self, *content: Any) -> Any:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(content) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def start(self, words: Sequence[str], folder: Path) -> int:
        """Starts a command in `folder`; returns its process id. Output goes to `folder/log`."""
        return int(self._ask("start", list(words), str(folder)))

    def end(self, process: int, number: signal.Signals | None = None) -> int:
        """Sends a signal, if any, and waits; returns the exit code, negative for a signal."""
        if number is not None:
            os.kill(process, number)
        return int(self._ask("wait", process))

    def run(self, words: Sequence[str], folder: Path) -> int:
        """Runs a command to its end; returns the exit code."""
        return self.end(self.start(words, folder))

    def killed(
        self, words: Sequence[str], folder: Path, number: signal.Signals, seconds: float
    ) -> int:
        """Runs a command and sends it a signal after some time; returns the exit code."""
        process = self.start(words, folder)
        time.sleep(seconds)
        return self.end(process, number)


def _child(words: list[str], folder: str) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.setsid()
    os.chdir(folder)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = ["hips", *words]
    from hips.cli import main

    main()


def serve() -> None:
    """Forks a process for every command."""
    import torch  # noqa: F401

    import hips.cli
    import hips.data
    import hips.practice.exploring
    import hips.training.run  # noqa: F401
    from hips import domains
    from hips.methods.planner import Planner
    from hips.seeding import stream

    puzzle = domains.create("sliding_tiles", height=2, width=3)
    start = puzzle.sample(stream(0, "warm"), 1)[0]
    Planner(puzzle).solve(start)  # compiles kernels, or loads them, once for all commands
    puzzle.expert(start, stream(0, "warm"))
    for line in sys.stdin:
        kind, *content = json.loads(line)
        if kind == "wait":
            _, status = os.waitpid(content[0], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        process = os.fork()
        if process == 0:
            code = 1
            try:
                _child(*content)
                code = 0
            except SystemExit as error:
                code = int(error.code or 0)
            except KeyboardInterrupt:  # before the command has begun
                code = 130
            except BaseException:
                code = UNEXPECTED
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(process, flush=True)


if __name__ == "__main__":
    serve()

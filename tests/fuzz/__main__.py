"""Run the fuzzer: `python -m tests.fuzz verdict --seconds 600`."""

from __future__ import annotations

import argparse
import importlib.util
import sys

from tests.fuzz.fuzzer import run_atheris, run_hypothesis
from tests.fuzz.targets import TARGETS


def main(argv: list[str] | None = None) -> int:
    """Fuzz the named parser; a text that breaks it ends the run with a traceback and
    the text.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Fuzz a parser of documents."
    )
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--engine", choices=("hypothesis", "atheris"), default="hypothesis"
    )
    given = parser.parse_args(argv)
    target = TARGETS[given.target]
    if given.engine == "atheris":
        if importlib.util.find_spec("atheris") is None:
            parser.error("atheris is not installed")
        run_atheris(target, given.seconds, ())
    count = run_hypothesis(
        target, given.seconds, lambda text: print(text, file=sys.stderr, flush=True)
    )
    print(f"{given.target}: {count} texts, nothing found")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

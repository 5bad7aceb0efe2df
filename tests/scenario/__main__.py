"""Serve a script until SIGTERM: `python -m tests.scenario SCRIPT.toml --port 0 --ledger
FILE`.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.scenario.ledger import Ledger
from tests.scenario.script import Script, ScriptError, load_script
from tests.scenario.server import Scenario, open_ledger


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, serve, return."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.scenario", description="Play the part of model providers."
    )
    parser.add_argument("script", type=Path, help="a script in TOML, or in JSON")
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    parser.add_argument(
        "--ledger",
        type=Path,
        help="file that every call is appended to, one JSON object a line",
    )
    options = parser.parse_args(argv)
    try:
        script = load_script(options.script)
    except (ScriptError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    asyncio.run(_serve(script, options.port, options.ledger))
    return 0


async def _serve(script: Script, port: int, ledger_path: Path | None) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    file = open_ledger(ledger_path)
    scenario = Scenario(script, Ledger(script.window, file))
    print(f"listening on {await scenario.start(port)}", flush=True)
    await ended.wait()
    await scenario.stop()
    if file is not None:
        file.close()


if __name__ == "__main__":
    sys.exit(main())

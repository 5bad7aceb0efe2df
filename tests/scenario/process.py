"""The server as a process of its own, for tests that must not share one with it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.scenario.ledger import Ledger, read_ledger

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 30.0


class ScenarioProcess:
    """Runs `python -m tests.scenario` and reads its ledger from the file."""

    def __init__(
        self, script: Mapping[str, Any] | str, folder: Path, *, port: int = 0
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.ledger_path = folder / "ledger.jsonl"
        is_text = isinstance(script, str)
        path = folder / ("script.toml" if is_text else "script.json")
        path.write_text(
            script if isinstance(script, str) else json.dumps(script), "utf-8"
        )
        argv = [sys.executable, "-m", "tests.scenario", str(path), "--port", str(port)]
        self._process = subprocess.Popen(
            [*argv, "--ledger", str(self.ledger_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            self.stop()
            raise RuntimeError(f"the scenario server did not start, it said {line!r}")
        self.url = line.removeprefix("listening on ").strip()

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    @property
    def ledger(self) -> Ledger:
        """Return what the file says now."""
        return read_ledger(self.ledger_path)

    def change(self, **changes: Any) -> None:
        """Change the script while it is played."""
        request = urllib.request.Request(
            f"{self.url}/__script", json.dumps(changes).encode(), method="POST"
        )
        urllib.request.urlopen(request, timeout=_PATIENCE).close()

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> ScenarioProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

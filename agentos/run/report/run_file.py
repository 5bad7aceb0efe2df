"""The description of a run that is written when it starts."""

from __future__ import annotations

import json
import os

from agentos.state.redaction import redact_json

SCHEMA = 1


def describe_run(
    run: str, started: str, command: str, repository: str, items: int
) -> str:
    """Return the text of `run.json`."""
    data = {
        "schema": SCHEMA,
        "run": run,
        "pid": os.getpid(),
        "started": started,
        "command": command,
        "repository": repository,
        "items": items,
    }
    return redact_json(json.dumps(data, indent=1))

"""What the tests of commands that ask models share: keys for the scenario server, and
what a run left on disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentos.run.report.audit import read_audit
from tests.support import World

MODELS = {
    "anthropic": "claude-sonnet-5",
    "claude-cli": "sonnet",
    "gemini": "gemini-3.5-flash",
    "openai": "gpt-6-luna",
}
PRICES = {"price_input": 3.0, "price_output": 15.0}
"""For a script; what `command` says with `--price`."""
PAUSED = r"^\[COORDINATOR\] Credential pool exhausted\. Pausing all workflows\.\.\.$"
CONTINUING_AT = (
    r"^\[COORDINATOR\] .*; continuing at \d\d:\d\d:\d\d UTC, in .*Waiting: LLD-"
)


def key(provider: str, url: str, secret: str = "", **more: Any) -> dict[str, Any]:
    """Return a `[[key]]` table for a server; without a secret, a made-up one."""
    address = f"{url}/v1" if provider == "openai" else url
    return {
        "provider": provider,
        "key": secret or f"sk-{provider}-0000001",
        "base_url": address,
        **more,
    }


def key_file(*tables: dict[str, Any]) -> str:
    """Return the text of a key file."""
    entries = (
        [
            "[[key]]",
            *(f"{name} = {json.dumps(value)}" for name, value in table.items()),
            "",
        ]
        for table in tables
    )
    return "\n".join(line for entry in entries for line in entry)


def write_keys(
    world: World, *tables: dict[str, Any], text: str = "", mode: int = 0o600
) -> None:
    """Put a key file in the place of the old one, as an editor does."""
    world.home.mkdir(mode=0o700, exist_ok=True)
    new = world.home / "keys.toml.new"
    new.write_text(text or key_file(*tables), "utf-8")
    new.chmod(mode)
    new.replace(world.home / "keys.toml")


def command(
    drafter: str, reviewer: str = "", *more: str, parallel: int = 5
) -> tuple[str, ...]:
    """Return the command for all items with a provider to draft and one to review, at
    the server's prices.
    """
    drafting, reviewing = (
        f"{name}:{MODELS[name]}" for name in (drafter, reviewer or drafter)
    )
    prices = [
        part for model in {drafting, reviewing} for part in ("--price", f"{model}=3/15")
    ]
    models = ("--drafter", drafting, "--reviewer", reviewing)
    return (
        "lld-workflow",
        "--all",
        "--parallel",
        str(parallel),
        *models,
        *prices,
        *more,
    )


def status_of(world: World) -> dict[str, tuple[str, str | None]]:
    """Return state and class of every item, as `agentos status` tells them."""
    document = json.loads(world.run("agentos", "status", "--json").stdout)
    return {
        item["id"]: (item["status"], item["class"])
        for item in document["items"]
        if item["workflow"] == "lld"
    }


def summary_of(folder: Path) -> dict[str, Any]:
    """Return a run's summary."""
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
    return summary


def events_of(folder: Path, *names: str) -> Iterator[dict[str, Any]]:
    """Return a run's audit events of some names."""
    for path in sorted(folder.glob("workflow-audit-*.jsonl")):
        yield from (event for event in read_audit(path) if event["event"] in names)


def lines_with(text: str, *parts: str) -> list[str]:
    """Return the lines that have all of the parts."""
    return [line for line in text.splitlines() if all(part in line for part in parts)]

"""Show every setting, its value and where that came from."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from agentos.cli.repository import repository_of
from agentos.errors import UsageError
from agentos.home import home_path
from agentos.settings import read_repository_settings, resolve
from agentos.trust import trust
from agentos.untrusted import print_clean


def show_config(args: argparse.Namespace) -> int:
    """Print the settings that a command in this repository would use, or trust those of the repository."""
    home = home_path(os.environ)
    if args.action == "trust":
        return _trust(repository_of(args), home)
    values = resolve({}, os.environ, repository_of(args), home / "config.toml")
    if args.json:
        settings = {name: {"value": v.value, "origin": v.origin} for name, v in values.items()}
        print(json.dumps({"schema": 1, "home": str(home), "settings": settings}, indent=2))
        return 0
    rows = [("home", str(home), "environment" if "AGENTOS_HOME" in os.environ else "default")]
    rows += [(name, _say(value.value), value.origin) for name, value in values.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, text, origin in rows:
        print_clean(f"{name.ljust(widths[0])}  {text.ljust(widths[1])}  {origin}\n")
    return 0


def _say(value: object) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    # A line of its own could pass for another setting.
    return text.replace("\n", "\\n")


def _trust(repository: Path, home: Path) -> int:
    """Let the repository's own prices, addresses and caps count, as long as its settings stay as they are."""
    own = read_repository_settings(repository, home)
    if not own.layers:
        raise UsageError(f"{repository}: has no settings to trust; they are in agentos.toml or pyproject.toml")
    trust(home, repository, own.values)
    for origin, layer in own.layers:
        for name, value in layer.items():
            print_clean(f"{origin}: {name} = {value!r}\n")
    print_clean("Trusted until these settings change.\n")
    return 0

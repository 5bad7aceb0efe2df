"""Show every setting, its value and where that came from."""

from __future__ import annotations

import argparse
import json
import os

from agentos.cli.repository import repository_of
from agentos.home import home_path
from agentos.settings import resolve


def show_config(args: argparse.Namespace) -> int:
    """Print the settings that a command in this repository would use."""
    home = home_path(os.environ)
    values = resolve({}, os.environ, repository_of(args), home / "config.toml")
    if args.json:
        settings = {name: {"value": v.value, "origin": v.origin} for name, v in values.items()}
        print(json.dumps({"schema": 1, "home": str(home), "settings": settings}, indent=2))
        return 0
    rows = [("home", str(home), "environment" if "AGENTOS_HOME" in os.environ else "default")]
    rows += [(name, _say(value.value), value.origin) for name, value in values.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, text, origin in rows:
        print(f"{name.ljust(widths[0])}  {text.ljust(widths[1])}  {origin}")
    return 0


def _say(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)

"""Find the plugins that a repository's settings of pytest take for granted: without them pytest does not even start."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentos.environments.requirement_lines import read_text
from agentos.errors import BadInput
from agentos.proofs.pytest_runner import find_configuration

_BY_OPTION = {
    "--asyncio-mode": "pytest-asyncio",
    "--benchmark": "pytest-benchmark",
    "--cov": "pytest-cov",
    "--disable-socket": "pytest-socket",
    "--dist": "pytest-xdist",
    "--ds": "pytest-django",
    "--html": "pytest-html",
    "--hypothesis": "hypothesis",
    "--no-cov": "pytest-cov",
    "--numprocesses": "pytest-xdist",
    "--randomly": "pytest-randomly",
    "--reruns": "pytest-rerunfailures",
    "--timeout": "pytest-timeout",
    "-n": "pytest-xdist",
}
"""Options by what stands before a `=` or the first dash that follows."""
_BY_SETTING = {
    "asyncio_mode": "pytest-asyncio",
    "django_settings_module": "pytest-django",
    "timeout": "pytest-timeout",
}


def configured_plugins(folder: Path) -> list[str]:
    """Return the requirements for plugins that the settings of pytest use or ask for."""
    try:
        settings = {key.casefold(): value for key, value in _settings(folder).items()}
    except (BadInput, tomllib.TOMLDecodeError, configparser.Error, RecursionError):
        return []
    found = [_by_option(word) for word in _words(settings.get("addopts"))]
    found += [plugin for key, plugin in _BY_SETTING.items() if key in settings]
    found += _words(settings.get("required_plugins"))
    return [plugin for plugin in dict.fromkeys(found) if plugin]


def _by_option(word: str) -> str:
    option = word.partition("=")[0]
    known = (plugin for sign, plugin in _BY_OPTION.items() if option == sign or option.startswith(f"{sign}-"))
    return next(known, _BY_OPTION["-n"] if option.startswith("-n") and option[2:].isalnum() else "")


def _settings(folder: Path) -> Mapping[str, Any]:
    path = find_configuration(folder)
    if path is None:
        return {}
    if path.suffix == ".toml":
        data: Any = tomllib.loads(read_text(path))
        table = data.get("tool", {}).get("pytest") if path.name == "pyproject.toml" else data.get("pytest")
        inner = table.get("ini_options", table) if isinstance(table, dict) else {}
        return inner if isinstance(inner, dict) else {}
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(read_text(path))
    section = "tool:pytest" if path.name == "setup.cfg" else "pytest"
    return dict(parser[section]) if section in parser else {}


def _words(value: object) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    return [word for text in texts if isinstance(text, str) for word in text.split()]

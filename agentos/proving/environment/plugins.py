"""Find the plugins that a repository's pytest settings require: without them pytest
does not start.
"""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentos.errors import BadInput
from agentos.proving.environment.requirement_lines import read_text
from agentos.proving.runners.pytest_runner import find_configuration

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
"""Plugins by the option up to a `=` or to a further dash."""
_BY_SETTING = {
    "asyncio_mode": "pytest-asyncio",
    "django_settings_module": "pytest-django",
    "timeout": "pytest-timeout",
}


def configured_plugins(folder: Path) -> list[str]:
    """Return requirements for the plugins that the pytest settings use."""
    try:
        settings = {key.casefold(): value for key, value in _settings(folder).items()}
    except (BadInput, ValueError, configparser.Error, RecursionError):
        return []
    found = list(map(_by_option, _words(settings.get("addopts"))))
    found += [plugin for key, plugin in _BY_SETTING.items() if key in settings]
    found += _words(settings.get("required_plugins"))
    return list(filter(None, dict.fromkeys(found)))


def _by_option(word: str) -> str:
    option = word.partition("=")[0]
    for known, plugin in _BY_OPTION.items():
        if option == known or option.startswith(f"{known}-"):
            return plugin
    if option.startswith("-n") and option[2:].isalnum():
        return _BY_OPTION["-n"]
    return ""


def _settings(folder: Path) -> Mapping[str, Any]:
    path = find_configuration(folder)
    if path is None:
        return {}
    if path.suffix == ".toml":
        data: Any = tomllib.loads(read_text(path))
        if path.name == "pyproject.toml":
            data = data.get("tool", {})
        table = data.get("pytest")
        if isinstance(table, dict):
            table = table.get("ini_options", table)
        if not isinstance(table, dict):
            return {}
        return table
    parser = configparser.ConfigParser(
        interpolation=None, strict=False, allow_no_value=True
    )
    parser.read_string(read_text(path))
    section = "pytest"
    if path.name == "setup.cfg":
        section = "tool:pytest"
    if section not in parser:
        return {}
    return dict(parser[section])


def _words(value: object) -> list[str]:
    if not isinstance(value, list):
        value = [value]
    words = []
    for text in value:
        if isinstance(text, str):
            words += text.split()
    return words

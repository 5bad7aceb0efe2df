"""What a repository says of how it is worked on: guides, project files, tests."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentos.codemap.overview import describe_tests
from agentos.codemap.reading import Reader
from agentos.codemap.showing import CUT, cut_lines, fenced, mask_secrets, shorten, show_name
from agentos.documents.strict_json import StrictJsonError, load_strict

_GUIDES = ("agents.md", "claude.md", "contributing.md", "contributing.rst", "contributing.txt", "contributing")
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")
_GUIDE_FOLDERS = ("", ".github/", "docs/")
_PROJECTS = frozenset({"pyproject.toml", "package.json"})
_README_SHARE = 0.15
_GUIDE_SHARE = 0.3
_PROJECT_LIMIT = 100_000
_GUIDE_PLACES = frozenset(f"{folder}{base}" for folder in _GUIDE_FOLDERS for base in (*_GUIDES, *_READMES))
_BUILD = """
makefile justfile dockerfile tox.ini noxfile.py setup.py setup.cfg cargo.toml go.mod pom.xml build.gradle tsconfig.json
cmakelists.txt mix.exs gemfile composer.json .pre-commit-config.yaml build.gradle.kts
"""
_BUILD_FILES = frozenset(_BUILD.split())


def describe_conventions(names: Sequence[str], reader: Reader, limit: int) -> Iterator[tuple[str, str]]:
    """Yield title and text of each part, most binding first; the caller stops when it has enough."""
    for name in _find(names, _GUIDES):
        if part := _head(name, reader, int(limit * _GUIDE_SHARE)):
            yield f"`{show_name(name)}` (how this project is worked on)", part
    if "pyproject.toml" in names and (text := reader.read("pyproject.toml", _PROJECT_LIMIT)):
        yield "`pyproject.toml` (in extracts)", mask_secrets("pyproject.toml", _python_project(text)) or ""
    if "package.json" in names and (text := reader.read("package.json", _PROJECT_LIMIT)):
        yield "`package.json` (in extracts)", mask_secrets("package.json", _node_project(text)) or ""
    if tests := describe_tests(names):
        yield "Tests", tests
    if others := [f"`{show_name(name)}`" for name in names if "/" not in name and name.casefold() in _BUILD_FILES]:
        yield "Also there", ", ".join(others)
    for name in _find(names, _READMES)[:1]:
        if part := _head(name, reader, int(limit * _README_SHARE)):
            yield f"`{show_name(name)}` (its beginning)", part


def is_guide(name: str) -> bool:
    """Tell whether a file is shown here, in extracts at least."""
    return name in _PROJECTS or name.casefold() in _GUIDE_PLACES


def _find(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    found = [n for n in names if n.casefold() in _GUIDE_PLACES and n.rpartition("/")[2].casefold() in wanted]
    return sorted(found, key=lambda name: (name.count("/"), wanted.index(name.rpartition("/")[2].casefold()), name))


def _head(name: str, reader: Reader, limit: int) -> str:
    text = mask_secrets(name, reader.read(name) or "")
    if not text or not text.strip():
        return ""
    kept, is_cut = cut_lines(text.strip(), limit)
    block = fenced(kept, "markdown") if kept.strip() else None
    return (block or "") + (CUT if block and is_cut else "")


def _python_project(text: str) -> str:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return "- is not valid TOML"
    project, tools = _table(data, "project"), _table(data, "tool")
    rows = [
        ("name", project.get("name")),
        ("Python", project.get("requires-python")),
        ("dependencies", project.get("dependencies")),
        ("optional dependencies", _table(project, "optional-dependencies")),
        ("commands", _table(project, "scripts")),
        ("poetry dependencies", _table(_table(tools, "poetry"), "dependencies")),
        ("build backend", _table(data, "build-system").get("build-backend")),
        ("tools configured", list(tools)),
        ("line length", _table(tools, "ruff").get("line-length") or _table(tools, "black").get("line-length")),
        ("pytest", _table(_table(tools, "pytest"), "ini_options")),
    ]
    return _rows(rows)


def _node_project(text: str) -> str:
    try:
        data = load_strict(text)
    except StrictJsonError:
        return "- is not valid JSON"
    if not isinstance(data, dict):
        return "- is not a JSON object"
    names = ("name", "type", "engines", "scripts", "dependencies", "devDependencies", "workspaces", "packageManager")
    return _rows([(name, data.get(name)) for name in names])


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _rows(rows: Sequence[tuple[str, Any]]) -> str:
    return "\n".join(f"- {name}: {_flat(value)}" for name, value in rows if value) or "- says nothing of note"


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name}={_flat(inner)}" if not isinstance(inner, dict) else name for name, inner in value.items()]
    if isinstance(value, list):
        shown = [_flat(entry) if not isinstance(entry, list | dict) else "..." for entry in value[:30]]
        return ", ".join([*shown, *(["..."] if len(value) > 30 else [])])
    return " ".join(shorten(str(value), 160).replace("`", "'").split())

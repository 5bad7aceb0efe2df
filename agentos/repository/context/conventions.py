"""Describe the conventions of a repository: guides, project files, tests."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentos.documents.strict_json import StrictJsonError, load_strict
from agentos.repository.context.listing import base_name
from agentos.repository.context.overview import describe_tests
from agentos.repository.context.reading import Reader
from agentos.repository.context.showing import (
    cut_lines,
    fenced,
    mask_secrets,
    shorten,
    show_name,
)

_GUIDES = (
    "agents.md",
    "claude.md",
    "contributing.md",
    "contributing.rst",
    "contributing.txt",
    "contributing",
)
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")
_GUIDE_FOLDERS = ("", ".github/", "docs/")
_README_SHARE = 0.15
_GUIDE_SHARE = 0.3
_PROJECT_LIMIT = 100_000
_GUIDE_PATHS = frozenset(
    f"{folder}{base}" for folder in _GUIDE_FOLDERS for base in (*_GUIDES, *_READMES)
)
_BUILD = """
makefile justfile dockerfile tox.ini noxfile.py setup.py setup.cfg cargo.toml go.mod pom.xml build.gradle tsconfig.json
cmakelists.txt mix.exs gemfile composer.json .pre-commit-config.yaml build.gradle.kts
"""
_BUILD_FILES = frozenset(_BUILD.split())
_MAX_ENTRIES = 30


def describe_conventions(
    names: Sequence[str], reader: Reader, limit: int
) -> Iterator[tuple[str, str]]:
    """Yield the title and text of each part, the most binding first."""
    for name in _find(names, _GUIDES):
        part = _head(name, reader, int(limit * _GUIDE_SHARE))
        if part:
            yield f"`{show_name(name)}` (how this project is worked on)", part
    for name, summarize in _PROJECTS.items():
        if name not in names:
            continue
        text = reader.read(name, _PROJECT_LIMIT)
        if text:
            summary = mask_secrets(name, summarize(text))
            yield f"`{name}` (in extracts)", summary or ""
    tests = describe_tests(names)
    if tests:
        yield "Tests", tests
    others = [name for name in names if name.casefold() in _BUILD_FILES]
    if others:
        yield "Also there", ", ".join(f"`{show_name(name)}`" for name in others)
    for name in _find(names, _READMES)[:1]:
        part = _head(name, reader, int(limit * _README_SHARE))
        if part:
            yield f"`{show_name(name)}` (its beginning)", part


def is_guide(name: str) -> bool:
    """Tell whether a file is shown among the conventions, at least in extracts."""
    return name in _PROJECTS or name.casefold() in _GUIDE_PATHS


def _find(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the wanted guides, those of the root first, then in the order wanted."""
    found = []
    for name in names:
        if name.casefold() not in _GUIDE_PATHS:
            continue
        base = base_name(name).casefold()
        if base in wanted:
            found.append((name.count("/"), wanted.index(base), name))
    return [name for _, _, name in sorted(found)]


def _head(name: str, reader: Reader, limit: int) -> str:
    text = mask_secrets(name, reader.read(name) or "")
    if not text or not text.strip():
        return ""
    kept, remark = cut_lines(text.strip(), limit)
    if not kept.strip():
        return ""
    block = fenced(kept, "markdown")
    return block + remark if block else ""


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
        (
            "line length",
            _table(tools, "ruff").get("line-length")
            or _table(tools, "black").get("line-length"),
        ),
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
    names = (
        "name",
        "type",
        "engines",
        "scripts",
        "dependencies",
        "devDependencies",
        "workspaces",
        "packageManager",
    )
    return _rows([(name, data.get(name)) for name in names])


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    if not isinstance(value, dict):
        return {}
    return value


def _rows(rows: Sequence[tuple[str, Any]]) -> str:
    lines = [f"- {name}: {_flat(value)}" for name, value in rows if value]
    return "\n".join(lines) or "- says nothing of note"


def _flat(value: Any) -> str:
    """Show a value on one line; of nested tables only the names."""
    if isinstance(value, dict):
        pairs = []
        for name, inner in value.items():
            is_table = isinstance(inner, dict)
            pairs.append(name if is_table else f"{name}={_flat(inner)}")
        value = pairs
    if isinstance(value, list):
        shown = []
        for entry in value[:_MAX_ENTRIES]:
            is_nested = isinstance(entry, list | dict)
            shown.append("..." if is_nested else _flat(entry))
        if len(value) > _MAX_ENTRIES:
            shown.append("...")
        return ", ".join(shown)
    return " ".join(shorten(str(value), 160).replace("`", "'").split())


_PROJECTS = {"pyproject.toml": _python_project, "package.json": _node_project}

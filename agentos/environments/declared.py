"""Read what a project declares of itself, statically: pyproject.toml, setup.cfg, setup.py, tox.ini."""

from __future__ import annotations

import ast
import configparser
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentos.environments.requirement_lines import read_text
from agentos.errors import BadInput

_NESTING = 20


@dataclass(frozen=True, slots=True)
class Declared:
    """What a project says that it needs, in its own words."""

    name: str = ""
    version: str = ""
    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Extras and dependency groups by their normalised name."""
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


def read_declared(folder: Path) -> Declared:
    """Return what the project files say together; of two that say the same thing, the more modern one counts."""
    readers = (("pyproject.toml", _pyproject), ("setup.cfg", _setup_cfg), ("setup.py", _setup_py))
    found = [read(name, folder) for name, read in readers if (folder / name).is_file()]
    groups: dict[str, tuple[str, ...]] = {}
    points: dict[str, Mapping[str, str]] = {}
    for part in reversed(found):
        groups.update(part.groups)
        points.update(part.entry_points)
    return Declared(
        name=next((part.name for part in found if part.name), ""),
        version=next((part.version for part in found if part.version), ""),
        requires_python=next((part.requires_python for part in found if part.requires_python), ""),
        dependencies=next((part.dependencies for part in found if part.dependencies), ()),
        groups=groups,
        entry_points=points,
        sources=tuple(name for part in found for name in part.sources),
    )


def read_tox(folder: Path) -> tuple[str, ...]:
    """Return the dependencies of tox's default environment that hold for every factor, with what they include."""
    if not (folder / "tox.ini").is_file():
        return ()
    deps = _ini("tox.ini", folder).get("testenv", {}).get("deps", "")
    lines = _lines(deps.replace("{toxinidir}/", ""))
    return tuple(line for line in lines if "{" not in line and not _has_factor(line))


def read_toml(folder: Path) -> dict[str, Any]:
    """Return pyproject.toml as it is, empty when there is none."""
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise BadInput(f"pyproject.toml: is not valid TOML ({str(error)[:120]}); correct it") from None


def _pyproject(name: str, folder: Path) -> Declared:
    data = read_toml(folder)
    project = _table(data, "project")
    extras = {_normal(key): _texts(value) for key, value in _table(project, "optional-dependencies").items()}
    tables = _table(data, "dependency-groups")
    groups = {_normal(key): tuple(_group(tables, key, 0)) for key in tables}
    merged = {key: (*extras.get(key, ()), *groups.get(key, ())) for key in (*extras, *groups)}
    points = {key: _strings(value) for key, value in _table(project, "entry-points").items()}
    points["console_scripts"] = _strings(project.get("scripts"))
    return Declared(
        name=_text(project.get("name")),
        version=_text(project.get("version")),
        requires_python=_text(project.get("requires-python")),
        dependencies=_texts(project.get("dependencies")),
        groups=merged,
        entry_points={key: value for key, value in points.items() if value},
        sources=(name,),
    )


def _group(tables: Mapping[str, Any], name: str, depth: int) -> Iterator[str]:
    entries: Any = next((value for key, value in tables.items() if _normal(key) == _normal(name)), [])
    for entry in entries if isinstance(entries, list) and depth < _NESTING else []:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
            yield from _group(tables, entry["include-group"], depth + 1)


def _setup_cfg(name: str, folder: Path) -> Declared:
    parser = _ini(name, folder)
    metadata, options = parser.get("metadata", {}), parser.get("options", {})
    version = metadata.get("version", "")
    return Declared(
        name=metadata.get("name", ""),
        version="" if version.startswith(("attr:", "file:")) else version,
        requires_python=options.get("python_requires", ""),
        dependencies=_lines(options.get("install_requires", "")),
        groups={_normal(key): _lines(text) for key, text in parser.get("options.extras_require", {}).items()},
        sources=(name,),
    )


def _ini(name: str, folder: Path) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(read_text(folder / name))
    except configparser.Error as error:
        raise BadInput(f"{name}: cannot be read ({str(error).splitlines()[0][:120]}); correct it") from None
    return {section: {key: text or "" for key, text in parser.items(section)} for section in parser.sections()}


def _setup_py(name: str, folder: Path) -> Declared:
    """Read the arguments of `setup(...)` that are written out; what is computed is not known."""
    try:
        module = ast.parse(read_text(folder / name))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Declared(sources=(name,))
    known = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    words: dict[str, Any] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func)[:80] in ("setup", "setuptools.setup"):
            words = {word.arg: _literal(word.value, known) for word in node.keywords if word.arg}
    extras = words.get("extras_require")
    return Declared(
        name=_text(words.get("name")),
        version=_text(words.get("version")),
        requires_python=_text(words.get("python_requires")),
        dependencies=_texts(words.get("install_requires")),
        groups={
            **({_normal(str(key)): _texts(value) for key, value in extras.items()} if isinstance(extras, dict) else {}),
            **({"tests": _texts(words["tests_require"])} if words.get("tests_require") else {}),
        },
        sources=(name,),
    )


def _literal(node: ast.expr, known: Mapping[str, ast.expr]) -> Any:
    if isinstance(node, ast.Name) and node.id in known:
        node = known[node.id]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    items: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())


def _strings(value: Any) -> dict[str, str]:
    return {key: text for key, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for row in text.splitlines() if (line := row.partition("#")[0].strip()))


def _has_factor(line: str) -> bool:
    head, colon, _ = line.partition(":")
    return bool(colon) and "/" not in head and "@" not in head


def _normal(name: str) -> str:
    return name.strip().casefold().replace("_", "-")

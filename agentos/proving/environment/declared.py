"""Read what a project declares about itself without running its code: pyproject.toml,
setup.cfg, setup.py, tox.ini.
"""

from __future__ import annotations

import ast
import configparser
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentos.errors import BadInput
from agentos.proving.environment.requirement_lines import read_text

Lines = tuple[str, ...]
Groups = dict[str, Lines]
Points = dict[str, dict[str, str]]
Table = dict[str, Any]
_NESTING = 20
_SETUP_CALLS = ("setup", "setuptools.setup")


@dataclass(frozen=True, slots=True)
class Declared:
    """What a project declares about itself, as it is written."""

    name: str = ""
    version: str = ""
    requires_python: str = ""
    dependencies: Lines = ()
    groups: Groups = field(default_factory=dict)
    """Extras and dependency groups by their normalized name."""
    entry_points: Points = field(default_factory=dict)
    sources: Lines = ()


def read_declared(folder: Path) -> Declared:
    """Merge what the project files say; if two say the same, the more modern one
    counts.
    """
    readers = (
        ("pyproject.toml", _pyproject),
        ("setup.cfg", _setup_cfg),
        ("setup.py", _setup_py),
    )
    found: list[Declared] = []
    for file, read in readers:
        if (folder / file).is_file():
            declared = read(file, folder)
            found.append(declared)
    name = version = requires_python = ""
    dependencies: Lines = ()
    groups: Groups = {}
    points: Points = {}
    sources: Lines = ()
    for part in reversed(found):
        name = part.name or name
        version = part.version or version
        requires_python = part.requires_python or requires_python
        dependencies = part.dependencies or dependencies
        groups.update(part.groups)
        points.update(part.entry_points)
        sources = part.sources + sources
    return Declared(
        name=name,
        version=version,
        requires_python=requires_python,
        dependencies=dependencies,
        groups=groups,
        entry_points=points,
        sources=sources,
    )


def read_tox(folder: Path) -> Lines:
    """Return the dependencies of tox's default environment that apply to every
    factor.
    """
    if not (folder / "tox.ini").is_file():
        return ()
    parser = _ini("tox.ini", folder)
    deps = _option(parser, "testenv", "deps")
    lines = _lines(deps.replace("{toxinidir}/", ""))
    return tuple(itertools.filterfalse(_is_conditional, lines))


def read_toml(folder: Path) -> Table:
    """Return the contents of pyproject.toml, empty if there is none."""
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise BadInput(
            f"pyproject.toml: is not valid TOML ({str(error)[:120]}); correct it"
        ) from None


def normalize_group(name: str) -> str:
    """Return the normalized name of an extra or a dependency group."""
    return name.strip().casefold().replace("_", "-")


def _pyproject(name: str, folder: Path) -> Declared:
    data = read_toml(folder)
    project = read_table(data, "project")
    groups = _groups(read_table(project, "optional-dependencies"))
    tables: Table = {}
    for key, value in read_table(data, "dependency-groups").items():
        tables.setdefault(normalize_group(key), value)
    for group in tables:
        extra = groups.get(group, ())
        requirements = tuple(_group(tables, group, 0))
        groups[group] = extra + requirements
    points = read_table(project, "entry-points")
    poetry = read_table(read_table(data, "tool"), "poetry")
    points["console_scripts"] = project.get("scripts") or poetry.get("scripts")
    return Declared(
        name=_text(project.get("name")) or _text(poetry.get("name")),
        version=_text(project.get("version")) or _text(poetry.get("version")),
        requires_python=_text(project.get("requires-python")),
        dependencies=_texts(project.get("dependencies")),
        groups=groups,
        entry_points=_entry_points(points),
        sources=(name,),
    )


def _group(tables: Table, name: str, depth: int) -> Iterator[str]:
    """Yield the requirements of a dependency group and of the groups it includes."""
    requirements = tables.get(name)
    if depth >= _NESTING:
        return
    if not isinstance(requirements, list):
        return
    for requirement in requirements:
        if isinstance(requirement, str):
            yield requirement
        elif isinstance(requirement, dict):
            included = requirement.get("include-group")
            if isinstance(included, str):
                inner = normalize_group(included)
                yield from _group(tables, inner, depth + 1)


def _entry_points(groups: Table) -> Points:
    found: Points = {}
    for group, table in groups.items():
        if isinstance(table, dict):
            points = {key: text for key, text in table.items() if isinstance(text, str)}
            if points:
                found[group] = points
    return found


def _listed_points(groups: Table) -> Points:
    """Read entry points as setuptools has them: lines or lists of `name = target`."""
    found: Points = {}
    for group, listed in groups.items():
        lines = _texts(listed)
        if isinstance(listed, str):
            text = _text(listed)
            lines = _lines(text)
        points = {}
        for line in lines:
            name, equals, target = line.partition("=")
            if not equals:
                continue
            command = name.strip()
            points[command] = target.strip()
        if points:
            name = _text(group)
            found[name] = points
    return found


def _setup_cfg(name: str, folder: Path) -> Declared:
    parser = _ini(name, folder)
    version = _option(parser, "metadata", "version")
    if version.startswith(("attr:", "file:")):
        version = ""
    groups: Groups = {}
    if parser.has_section("options.extras_require"):
        for extra, text in parser.items("options.extras_require"):
            groups[normalize_group(extra)] = _lines(text or "")
    points: Table = {}
    if parser.has_section("options.entry_points"):
        points = dict(parser.items("options.entry_points"))
    return Declared(
        name=_option(parser, "metadata", "name"),
        version=version,
        requires_python=_option(parser, "options", "python_requires"),
        dependencies=_lines(_option(parser, "options", "install_requires")),
        groups=groups,
        entry_points=_listed_points(points),
        sources=(name,),
    )


def _ini(name: str, folder: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(
        interpolation=None, strict=False, allow_no_value=True
    )
    try:
        parser.read_string(read_text(folder / name))
    except configparser.Error as error:
        reason = str(error).splitlines()[0][:120]
        raise BadInput(f"{name}: cannot be read ({reason}); correct it") from None
    return parser


def _option(parser: configparser.ConfigParser, section: str, key: str) -> str:
    return parser.get(section, key, fallback="") or ""


def _setup_py(name: str, folder: Path) -> Declared:
    """Read the arguments of `setup(...)` that are literals; computed ones are
    unknown.
    """
    try:
        arguments = read_setup_arguments(folder)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Declared(sources=(name,))
    groups: Groups = {}
    extras = arguments.get("extras_require")
    if isinstance(extras, dict):
        groups = _groups(extras)
    if arguments.get("tests_require"):
        groups["tests"] = _texts(arguments["tests_require"])
    return Declared(
        name=_text(arguments.get("name")),
        version=_text(arguments.get("version")),
        requires_python=_text(arguments.get("python_requires")),
        dependencies=_texts(arguments.get("install_requires")),
        groups=groups,
        entry_points=_listed_points(read_table(arguments, "entry_points")),
        sources=(name,),
    )


def read_setup_arguments(folder: Path) -> Table:
    """Return the keyword arguments of the last call of `setup` in setup.py: None for
    each that is no literal, and `**` if there may be more.
    """
    path = folder / "setup.py"
    if not path.is_file():
        return {}
    module = ast.parse(read_text(path))
    variables: dict[str, ast.expr] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    variables[target.id] = node.value
    arguments: Table = {}
    for call in ast.walk(module):
        if not isinstance(call, ast.Call):
            continue
        if ast.unparse(call.func) in _SETUP_CALLS:
            arguments = {
                keyword.arg or "**": _literal(keyword.value, variables)
                for keyword in call.keywords
            }
    return arguments


def _literal(node: ast.expr, variables: Mapping[str, ast.expr]) -> Any:
    if isinstance(node, ast.Name):
        node = variables.get(node.id, node)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _groups(extras: Table) -> Groups:
    groups: Groups = {}
    for name, requirements in extras.items():
        group = normalize_group(str(name))
        groups[group] = _texts(requirements)
    return groups


def read_table(data: Table, key: str) -> Table:
    """Return a table in another one, empty if there is none."""
    value = data.get(key)
    if not isinstance(value, dict):
        return {}
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    # A literal of Python may have half of a character, which no file can hold.
    encoded = value.encode("utf-8", "replace")
    text = encoded.decode()
    return text.strip()


def _texts(value: Any) -> Lines:
    if not isinstance(value, list | tuple):
        value = [value]
    return tuple(filter(None, map(_text, value)))


def _lines(text: str) -> Lines:
    lines = []
    for row in text.splitlines():
        line = row.partition("#")[0].strip()
        if line:
            lines.append(line)
    return tuple(lines)


def _is_conditional(line: str) -> bool:
    """Return whether a line of tox uses a substitution or applies to a factor only."""
    if "{" in line:
        return True
    head, colon, _ = line.partition(":")
    if not colon:
        return False
    return "/" not in head and "@" not in head

"""Find the definitions of a file and the lines that each of them takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentos.documents.markdown import scan
from agentos.repository.context.python import (
    PARSE_LIMIT,
    UNPARSABLE,
    parse_source,
    unfold,
)

_DEEPEST = 6
_MOST_LINES = 100_000
_LONGEST_LINE = 1_000
_LONGEST_MARKDOWN = 500_000
_UNDERLINE = re.compile(r"""([-=~^"'+*#.:_])\1{2,200}""")
_SECTION = re.compile(r"\[{1,2}([^\]\[]{1,200})\]{1,2}")
_DEFINITION = re.compile(
    r"(?P<indent>[ \t]{0,24})"
    r"(?:(?:export|default|pub(?:\([a-z]{1,9}\))?|public|private|protected|static|async"
    r"|abstract|final|unsafe|extern|declare|const)[ \t]{1,4}){0,4}"
    r"(?:def|class|function\*?|func|fn|type|interface|struct|enum|trait|impl|module"
    r"|namespace|macro_rules!|object|record|protocol|const|let|var)[ \t]{1,4}"
    r"(?:\([^()\n]{0,80}\)[ \t]{0,4})?(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"
)
_SECTIONED = (".toml", ".ini", ".cfg")
_PYTHON = (".py", ".pyi")
_MARKDOWN = (".md", ".markdown")
_UNDERLINED = (".rst", ".txt")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Start = tuple[str, int, int]
"""A name, its line and its level: a definition whose end is not known yet."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, a class, a name or a heading, with its first and last line."""

    name: str
    """The whole name, such as `Class.method`."""
    first: int
    last: int
    line: int
    """Where the name stands: below the decorators."""
    depth: int = 0
    is_entry: bool = False
    """Whether it is an entry of a table, which no outline shows."""


def find_definitions(path: str, text: str) -> list[Definition]:
    """Return the definitions or headings of a file in the order of their lines."""
    lowered = path.casefold()
    if lowered.endswith(_PYTHON) and len(text) <= PARSE_LIMIT:
        try:
            module = parse_source(text)
            return list(_in_body(module.body, "", 0))
        except UNPARSABLE:
            pass
    rows = text.removesuffix("\n").split("\n")[:_MOST_LINES]
    if lowered.endswith(_MARKDOWN):
        found = _headings(text)
    elif lowered.endswith(_UNDERLINED):
        found = _underlined(rows)
    elif lowered.endswith(_SECTIONED):
        found = _sections(rows)
    else:
        found = _by_indent(rows)
    return _with_ends(found, len(rows))


def is_python(path: str) -> bool:
    """Tell whether a file is a Python module by its name."""
    return path.casefold().endswith(_PYTHON)


def _in_body(body: Sequence[ast.stmt], prefix: str, depth: int) -> Iterator[Definition]:
    for node in unfold(body):
        if isinstance(node, ast.ClassDef | _Function):
            yield from _definition(node, prefix, depth)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _assigned(node, target, node.value, prefix, depth)
        elif isinstance(node, ast.AnnAssign):
            yield from _assigned(node, node.target, node.value, prefix, depth)


def _definition(
    node: ast.ClassDef | _Function, prefix: str, depth: int
) -> Iterator[Definition]:
    first = node.lineno
    for decorator in node.decorator_list:
        first = min(first, decorator.lineno)
    name = f"{prefix}{node.name}"
    last = node.end_lineno or first
    yield Definition(name, first, last, node.lineno, depth)
    if depth >= _DEEPEST:
        return
    body = list(unfold(node.body))
    if not isinstance(node, ast.ClassDef):
        # The variables of a function are no names that others could use.
        body = [each for each in body if isinstance(each, ast.ClassDef | _Function)]
    yield from _in_body(body, f"{name}.", depth + 1)


def _assigned(
    node: ast.stmt,
    target: ast.expr,
    value: ast.expr | None,
    prefix: str,
    depth: int,
) -> Iterator[Definition]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _assigned(node, part, None, prefix, depth)
    if not isinstance(target, ast.Name):
        return
    name = f"{prefix}{target.id}"
    last = node.end_lineno or node.lineno
    yield Definition(name, node.lineno, last, node.lineno, depth)
    if isinstance(value, ast.Call) and value.args:
        # A table may be wrapped, such as in `MappingProxyType`.
        value = value.args[0]
    if isinstance(value, ast.Dict):
        yield from _entries(value, name, depth + 1)


def _entries(table: ast.Dict, name: str, depth: int) -> Iterator[Definition]:
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant):
            shown = str(key.value)
        elif isinstance(key, ast.Name | ast.Attribute):
            shown = ast.unparse(key)
        else:
            continue
        last = value.end_lineno or value.lineno
        entry = f"{name}.{shown}"
        yield Definition(entry, key.lineno, last, key.lineno, depth, is_entry=True)


def _headings(text: str) -> list[_Start]:
    if len(text) > _LONGEST_MARKDOWN:
        return []
    found = []
    for line in scan(text):
        title = line.text.strip("# \t")
        if line.level:
            found.append((title, line.number, line.level))
    return found


def _underlined(rows: Sequence[str]) -> list[_Start]:
    """Return the titles of reStructuredText; levels are as they first occur."""
    found = []
    levels: dict[str, int] = {}
    title = ""
    for number, row in enumerate(rows, 1):
        line = row.rstrip()
        is_rule = _UNDERLINE.fullmatch(line) is not None
        if is_rule and title and len(line) >= len(title):
            level = levels.setdefault(line[0], len(levels))
            found.append((title.strip(), number - 1, level))
        title = "" if is_rule else line
    return found


def _sections(rows: Sequence[str]) -> list[_Start]:
    found = []
    for number, row in enumerate(rows, 1):
        section = _SECTION.match(row)
        if section:
            found.append((section[1], number, 1))
    return found


def _by_indent(rows: Sequence[str]) -> list[_Start]:
    """Return the lines that look like definitions in some language."""
    found = []
    for number, row in enumerate(rows, 1):
        match = _DEFINITION.match(row[:_LONGEST_LINE])
        if match:
            indent = len(match["indent"].expandtabs(4))
            found.append((match["name"], number, indent))
    return found


def _with_ends(found: Sequence[_Start], total: int) -> list[Definition]:
    """Return definitions, each of which ends where the next one of its level or above
    begins.
    """
    ends = [total] * len(found)
    depths = [0] * len(found)
    around: list[int] = []
    for index, (_, number, level) in enumerate(found):
        while around and found[around[-1]][2] >= level:
            ends[around.pop()] = number - 1
        depths[index] = len(around)
        around.append(index)
    definitions = []
    for index, (name, number, _) in enumerate(found):
        last = max(number, ends[index])
        definition = Definition(name, number, last, number, depths[index])
        definitions.append(definition)
    return definitions

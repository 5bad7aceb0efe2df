"""Find the definitions of a file and the lines that each of them takes."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentos.documents.markdown import scan

PARSE_LIMIT = 200_000
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises for source that is wrong, has NUL bytes or is too nested."""
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
            module = parse_python(text)
            found_in_tree = _in_body(module.body, "", 0)
            return list(found_in_tree)
        except UNPARSABLE:
            pass
    whole = text.removesuffix("\n")
    rows = whole.split("\n", _MOST_LINES)
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


def parse_python(text: str) -> ast.Module:
    """Parse source without warnings about it, such as those about old escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _unfold(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, also those under a condition such as a check of the
    platform.
    """
    for node in body:
        if isinstance(node, ast.If):
            yield from node.body
            yield from node.orelse
        elif isinstance(node, ast.Try):
            yield from node.body
            for handler in node.handlers:
                yield from handler.body
        else:
            yield node


def _in_body(
    body: Iterable[ast.stmt],
    prefix: str,
    depth: int,
) -> Iterator[Definition]:
    for node in _unfold(body):
        if isinstance(node, ast.ClassDef | _Function):
            yield from _definition(node, prefix, depth)
            continue
        targets: list[ast.expr] = []
        value = None
        if isinstance(node, ast.Assign):
            targets = node.targets
            value = node.value
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
            value = node.value
        for name in _names(targets):
            whole = f"{prefix}{name}"
            yield _place(whole, node, depth)
            yield from _entries(value, whole, depth + 1)


def _definition(
    node: ast.ClassDef | _Function,
    prefix: str,
    depth: int,
) -> Iterator[Definition]:
    name = f"{prefix}{node.name}"
    yield _place(name, node, depth)
    if depth >= _DEEPEST:
        return
    body: Iterable[ast.stmt] = node.body
    if not isinstance(node, ast.ClassDef):
        # The variables of a function are no names that others could use.
        body = filter(_is_definition, _unfold(body))
    yield from _in_body(
        body,
        f"{name}.",
        depth + 1,
    )


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef | _Function)


def _place(name: str, node: ast.stmt, depth: int) -> Definition:
    """Return where a statement stands, with its decorators."""
    first = node.lineno
    if isinstance(node, ast.ClassDef | _Function):
        for decorator in node.decorator_list:
            first = min(first, decorator.lineno)
    return Definition(
        name,
        first,
        node.end_lineno or first,
        node.lineno,
        depth,
    )


def _names(targets: Iterable[ast.expr]) -> Iterator[str]:
    """Yield the names that a statement assigns."""
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            yield from _names(target.elts)


def _entries(
    value: ast.expr | None,
    name: str,
    depth: int,
) -> Iterator[Definition]:
    if isinstance(value, ast.Call) and value.args:
        # A table may be wrapped, such as in `MappingProxyType`.
        value = value.args[0]
    if not isinstance(value, ast.Dict):
        return
    pairs = zip(value.keys, value.values, strict=True)
    for key, entry in pairs:
        if isinstance(key, ast.Constant):
            shown = str(key.value)
        elif isinstance(key, ast.Name | ast.Attribute):
            shown = ast.unparse(key)
        else:
            continue
        yield Definition(
            f"{name}.{shown}",
            key.lineno,
            entry.end_lineno or entry.lineno,
            key.lineno,
            depth,
            is_entry=True,
        )


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
            indent = match["indent"].expandtabs(4)
            name = match["name"]
            found.append((name, number, len(indent)))
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
        definition = Definition(
            name,
            number,
            max(number, ends[index]),
            number,
            depths[index],
        )
        definitions.append(definition)
    return definitions

"""Map a Python module: its classes, functions with their signatures, constants and own imports; nothing is executed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence

from agentos.codemap.outline import outline_python
from agentos.codemap.showing import first_sentence, shorten

PARSE_LIMIT = 200_000
LINE_LIMIT = 240
MAX_LINES = 400
MAX_NESTING = 3
_LONG_EXPRESSION = 200
_LONG_CALL = 80
_LONG_TEXT = 60
_MANY_LINES = 6
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_map(text: str, own: frozenset[str] = frozenset()) -> str:
    """Return a module's outline; of its imports, the relative ones and those from the packages `own`.

    What the parser refuses, or would take too long over, gets a plain outline of its `def` and `class` lines.
    """
    if len(text) > PARSE_LIMIT:
        return outline_python(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        lines = [shorten(line, LINE_LIMIT) for line in _Outline(text.split("\n"), own).lines_of(module)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return outline_python(text)
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"... ({len(lines) - MAX_LINES} more lines)"]
    return "\n".join(lines)


class _Outline:
    """Writes one line for each thing that a module defines, expressions as they stand in the source."""

    def __init__(self, rows: Sequence[str], own: frozenset[str]) -> None:
        self._rows = rows
        self._own = own

    def lines_of(self, module: ast.Module) -> Iterator[str]:
        """Yield the lines of a whole module."""
        if doc := _doc(module):
            yield f'"""{doc}"""'
        if imports := sorted(set(self._own_imports(module.body))):
            yield f"# uses {', '.join(imports)}"
        for node in _unfold(module.body):
            yield from self._statement(node, "", 0)

    def _own_imports(self, body: Iterable[ast.stmt]) -> Iterator[str]:
        for node in _unfold(body):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in self._own)
            elif isinstance(node, ast.ImportFrom):
                name = "." * node.level + (node.module or "")
                if node.level or name.partition(".")[0] in self._own:
                    yield f"{name} ({', '.join(sorted(alias.name for alias in node.names))})"

    def _statement(self, node: ast.stmt, indent: str, depth: int) -> Iterator[str]:
        if isinstance(node, ast.ClassDef):
            yield from self._class(node, indent, depth)
        elif isinstance(node, _Function):
            yield from self._decorators(node, indent)
            yield self._signature(node, indent)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            value = f" = {self._value(node.value)}" if node.value else ""
            yield f"{indent}{node.target.id}: {self._expression(node.annotation)}{value}"
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names:
                yield f"{indent}{' = '.join(names)} = {self._value(node.value)}"

    def _class(self, node: ast.ClassDef, indent: str, depth: int) -> Iterator[str]:
        bases = [self._expression(base) for base in node.bases]
        bases += [f"{word.arg or '**'}={self._expression(word.value)}" for word in node.keywords]
        parents = f"({', '.join(bases)})" if bases else ""
        yield from self._decorators(node, indent)
        yield f"{indent}class {node.name}{parents}:{_remark(node)}"
        if depth < MAX_NESTING:
            for part in _unfold(node.body):
                yield from self._statement(part, indent + "    ", depth + 1)

    def _decorators(self, node: ast.ClassDef | _Function, indent: str) -> Iterator[str]:
        yield from (f"{indent}@{self._expression(mark)}" for mark in node.decorator_list[:4])

    def _signature(self, node: _Function, indent: str) -> str:
        kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        returns = f" -> {self._expression(node.returns)}" if node.returns else ""
        return f"{indent}{kind} {node.name}({', '.join(self._parameters(node.args))}){returns}{_remark(node)}"

    def _parameters(self, args: ast.arguments) -> Iterator[str]:
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(args.defaults)), *args.defaults]
        for index, (argument, default) in enumerate(zip(positional, defaults, strict=True), 1):
            yield self._parameter(argument, default)
            if index == len(args.posonlyargs):
                yield "/"
        if args.vararg:
            yield f"*{self._parameter(args.vararg, None)}"
        elif args.kwonlyargs:
            yield "*"
        for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            yield self._parameter(argument, default)
        if args.kwarg:
            yield f"**{self._parameter(args.kwarg, None)}"

    def _parameter(self, argument: ast.arg, default: ast.expr | None) -> str:
        if argument.annotation is None:
            return f"{argument.arg}={self._value(default)}" if default else argument.arg
        typed = f"{argument.arg}: {self._expression(argument.annotation)}"
        return f"{typed} = {self._value(default)}" if default else typed

    def _value(self, node: ast.expr | None) -> str:
        """Show a default or a constant without what makes it long."""
        match node:
            case ast.List(elts=[_, _, _, _, *_]):
                return "[...]"
            case ast.Tuple(elts=[_, _, _, _, *_]):
                return "(...)"
            case ast.Set(elts=[_, _, _, _, *_]) | ast.Dict(keys=[_, _, *_]):
                return "{...}"
            case ast.Constant(value=str(text)) if len(text) > _LONG_TEXT:
                return repr(text[: _LONG_TEXT - 3]) + "..."
            case ast.Lambda():
                return "lambda ..."
            case ast.Call(func=func) if _is_long(node, _LONG_CALL):
                return f"{self._expression(func)}(...)"
            case None:
                return ""
            case _:
                return self._expression(node)

    def _expression(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        if _is_long(node, _LONG_EXPRESSION):
            return "..."
        if node.end_lineno != node.lineno:
            return ast.unparse(node)
        row = self._rows[node.lineno - 1]
        if row.isascii():
            return row[node.col_offset : node.end_col_offset]
        return row.encode()[node.col_offset : node.end_col_offset].decode("utf-8", "replace")


def _unfold(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and those that stand under a condition such as a check of the platform."""
    for node in body:
        if isinstance(node, ast.If):
            yield from (*node.body, *node.orelse)
        elif isinstance(node, ast.Try):
            yield from (*node.body, *(inner for handler in node.handlers for inner in handler.body))
        else:
            yield node


def _remark(node: ast.ClassDef | _Function) -> str:
    doc = _doc(node)
    return f"  # {doc}" if doc else ""


def _doc(node: ast.Module | ast.ClassDef | _Function) -> str:
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first_sentence(first.value.value)
    return ""


def _is_long(node: ast.expr, limit: int) -> bool:
    """Judge by the place in the source, which bounds the depth too."""
    lines = (node.end_lineno or node.lineno) - node.lineno
    return lines > _MANY_LINES or (lines == 0 and (node.end_col_offset or 0) - node.col_offset > limit)

"""Outline a Python module: classes, signatures, constants and imports of its project.

The source is parsed and never executed.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence

from agentos.repository.context.outline import outline_python
from agentos.repository.context.showing import first_sentence, shorten

PARSE_LIMIT = 200_000
LINE_LIMIT = 240
MAX_LINES = 400
MAX_NESTING = 3
_LONG_EXPRESSION = 200
_LONG_CALL = 80
_LONG_TEXT = 60
_MANY_LINES = 6
_MAX_DECORATORS = 4
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_map(text: str, own: frozenset[str] = frozenset()) -> str:
    """Return a module's outline; `own` are the project's packages, whose imports are
    shown.

    Source that does not parse, or is too long to parse, gets a plain outline.
    """
    if len(text) > PARSE_LIMIT:
        return outline_python(text)
    rows = text.split("\n")
    outline = _Outline(rows, own)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        lines = list(outline.lines_of(module))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return outline_python(text)
    first = lines[:MAX_LINES]
    shown = [shorten(line, LINE_LIMIT) for line in first]
    more = len(lines) - MAX_LINES
    if more > 0:
        shown.append(f"... ({more} more lines)")
    return "\n".join(shown)


class _Outline:
    """Writes a line for each definition of a module, with expressions as in the
    source.
    """

    def __init__(self, rows: Sequence[str], own: frozenset[str]) -> None:
        self._rows = rows
        self._own = own

    def lines_of(self, module: ast.Module) -> Iterator[str]:
        """Yield the lines of a whole module."""
        doc = _doc(module)
        if doc:
            yield f'"""{doc}"""'
        imports = set(self._own_imports(module.body))
        if imports:
            used = ", ".join(sorted(imports))
            yield f"# uses {used}"
        for node in _unfold(module.body):
            yield from self._statement(node, 0)

    def _own_imports(self, body: Iterable[ast.stmt]) -> Iterator[str]:
        for node in _unfold(body):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if self._is_own(alias.name):
                        yield alias.name
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                if not node.level and not self._is_own(module):
                    continue
                dots = "." * node.level
                names = sorted(alias.name for alias in node.names)
                listed = ", ".join(names)
                yield f"{dots}{module} ({listed})"

    def _is_own(self, module: str) -> bool:
        package = module.partition(".")[0]
        return package in self._own

    def _statement(self, node: ast.stmt, depth: int) -> Iterator[str]:
        match node:
            case ast.ClassDef():
                yield from self._class(node, depth)
            case ast.FunctionDef():
                yield from self._function(node, "def")
            case ast.AsyncFunctionDef():
                yield from self._function(node, "async def")
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                declared = self._expression(annotation)
                line = f"{name}: {declared}"
                if node.value:
                    value = self._value(node.value)
                    line += f" = {value}"
                yield line
            case ast.Assign(targets=targets, value=assigned):
                names = ""
                for target in targets:
                    if isinstance(target, ast.Name):
                        names += f"{target.id} = "
                if names:
                    yield names + self._value(assigned)

    def _class(self, node: ast.ClassDef, depth: int) -> Iterator[str]:
        bases = [self._expression(base) for base in node.bases]
        for keyword in node.keywords:
            value = self._expression(keyword.value)
            bases.append(f"{keyword.arg or '**'}={value}")
        parents = ""
        if bases:
            parents = f"({', '.join(bases)})"
        remark = _remark(node)
        yield from self._decorators(node)
        yield f"class {node.name}{parents}:{remark}"
        if depth == MAX_NESTING:
            return
        for part in _unfold(node.body):
            for line in self._statement(part, depth + 1):
                yield f"    {line}"

    def _function(self, node: _Function, word: str) -> Iterator[str]:
        yield from self._decorators(node)
        parameters = ", ".join(self._parameters(node.args))
        signature = f"{node.name}({parameters})"
        if node.returns:
            returned = self._expression(node.returns)
            signature += f" -> {returned}"
        remark = _remark(node)
        yield f"{word} {signature}{remark}"

    def _decorators(self, node: ast.ClassDef | _Function) -> Iterator[str]:
        for decorator in node.decorator_list[:_MAX_DECORATORS]:
            yield "@" + self._expression(decorator)

    def _parameters(self, args: ast.arguments) -> Iterator[str]:
        positional = args.posonlyargs + args.args
        # Defaults belong to the last parameters.
        required = len(positional) - len(args.defaults)
        for index, argument in enumerate(positional):
            default = None
            if index >= required:
                default = args.defaults[index - required]
            yield self._parameter(argument, default)
            if index + 1 == len(args.posonlyargs):
                yield "/"
        if args.vararg:
            yield "*" + self._parameter(args.vararg, None)
        elif args.kwonlyargs:
            yield "*"
        for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            yield self._parameter(argument, default)
        if args.kwarg:
            yield "**" + self._parameter(args.kwarg, None)

    def _parameter(self, argument: ast.arg, default: ast.expr | None) -> str:
        shown = argument.arg
        # As PEP 8 writes defaults.
        equals = "="
        if argument.annotation:
            shown += f": {self._expression(argument.annotation)}"
            equals = " = "
        if default:
            shown += equals + self._value(default)
        return shown

    def _value(self, node: ast.expr) -> str:
        """Show a default or a constant, abbreviated if it is long."""
        match node:
            case ast.List(elts=[_, _, _, _, *_]):
                return "[...]"
            case ast.Tuple(elts=[_, _, _, _, *_]):
                return "(...)"
            case ast.Set(elts=[_, _, _, _, *_]) | ast.Dict(keys=[_, _, *_]):
                return "{...}"
            case ast.Constant(value=str(text)) if len(text) > _LONG_TEXT:
                beginning = text[: _LONG_TEXT - 3]
                return repr(beginning) + "..."
            case ast.Lambda():
                return "lambda ..."
            case ast.Call(func=func) if _is_long(node, _LONG_CALL):
                return f"{self._expression(func)}(...)"
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
        place = slice(node.col_offset, node.end_col_offset)
        if row.isascii():
            return row[place]
        # The parser counts columns in bytes.
        return row.encode()[place].decode("utf-8", "replace")


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


def _remark(node: ast.ClassDef | _Function) -> str:
    doc = _doc(node)
    if not doc:
        return ""
    return f"  # {doc}"


def _doc(node: ast.Module | ast.ClassDef | _Function) -> str:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
            return first_sentence(text)
    return ""


def _is_long(node: ast.expr, limit: int) -> bool:
    """Judge by the place in the source, which also bounds the depth."""
    last_line = node.end_lineno or node.lineno
    lines = last_line - node.lineno
    if lines:
        return lines > _MANY_LINES
    end = node.end_col_offset or 0
    return end - node.col_offset > limit

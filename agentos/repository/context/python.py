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
_SHORT_TEXT = _LONG_TEXT - len("...")
_MANY_LINES = 6
_MAX_DECORATORS = 4
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises for source that is wrong, has NUL bytes or is too nested."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = ast.ClassDef | _Function
_Statements = Iterable[ast.stmt]
_Lines = Iterator[str]
_Packages = frozenset[str]


def python_map(text: str, own: _Packages = frozenset()) -> str:
    """Return a module's outline; `own` are the project's packages, whose imports are
    shown.

    Source that does not parse, or is too long to parse, gets a plain outline.
    """
    if len(text) > PARSE_LIMIT:
        return outline_python(text)
    rows = text.split("\n")
    outline = _Outline(rows, own)
    try:
        module = parse_source(text)
        found = outline.lines_of(module)
        lines = list(found)
    except UNPARSABLE:
        return outline_python(text)
    first = lines[:MAX_LINES]
    shown = [shorten(line, LINE_LIMIT) for line in first]
    more = len(lines) - MAX_LINES
    if more > 0:
        note = f"... ({more} more lines)"
        shown.append(note)
    return "\n".join(shown)


def parse_source(text: str) -> ast.Module:
    """Parse source without warnings about it, such as those about old escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


class _Outline:
    """Writes a line for each definition of a module, with expressions as in the
    source.
    """

    def __init__(self, rows: Sequence[str], own: _Packages) -> None:
        self._rows = rows
        self._own = own

    def lines_of(self, module: ast.Module) -> _Lines:
        """Yield the lines of a whole module."""
        doc = _doc(module)
        if doc:
            yield f'"""{doc}"""'
        body = module.body
        imports = self._own_imports(body)
        distinct = sorted(set(imports))
        if distinct:
            used = ", ".join(distinct)
            yield f"# uses {used}"
        for node in unfold(body):
            yield from self._statement(node, 0)

    def _own_imports(self, body: _Statements) -> _Lines:
        for node in unfold(body):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name
                    if self._is_own(name):
                        yield name
            elif isinstance(node, ast.ImportFrom):
                yield from self._import_from(node)

    def _import_from(self, node: ast.ImportFrom) -> _Lines:
        """Yield a module of the project and what is imported from it."""
        module = node.module or ""
        dots = "." * node.level
        if not dots and not self._is_own(module):
            return
        names = [alias.name for alias in node.names]
        names.sort()
        listed = ", ".join(names)
        yield f"{dots}{module} ({listed})"

    def _is_own(self, module: str) -> bool:
        package = module.partition(".")[0]
        return package in self._own

    def _statement(self, node: ast.stmt, depth: int) -> _Lines:
        match node:
            case ast.ClassDef():
                yield from self._class(node, depth)
            case ast.FunctionDef():
                yield from self._function(node, "def")
            case ast.AsyncFunctionDef():
                yield from self._function(node, "async def")
            case ast.AnnAssign(target=ast.Name(id=name)):
                declared = self._expression(node.annotation)
                line = f"{name}: {declared}"
                if node.value:
                    value = self._value(node.value)
                    line += f" = {value}"
                yield line
            case ast.Assign():
                yield from self._assignment(node)

    def _assignment(self, node: ast.Assign) -> _Lines:
        """Yield the line of an assignment; one to something else than a name has none."""
        line = ""
        for target in node.targets:
            if isinstance(target, ast.Name):
                line += f"{target.id} = "
        if not line:
            return
        value = self._value(node.value)
        line += value
        yield line

    def _class(self, node: ast.ClassDef, depth: int) -> _Lines:
        yield from self._decorators(node)
        line = f"class {node.name}"
        bases = list(self._bases(node))
        if bases:
            listed = ", ".join(bases)
            line += f"({listed})"
        remark = _remark(node)
        yield f"{line}:{remark}"
        if depth == MAX_NESTING:
            return
        inside = depth + 1
        body = unfold(node.body)
        for part in body:
            for line in self._statement(part, inside):
                yield f"    {line}"

    def _bases(self, node: ast.ClassDef) -> _Lines:
        """Yield the base classes, and keywords such as a metaclass."""
        for base in node.bases:
            yield self._expression(base)
        for keyword in node.keywords:
            name = keyword.arg or "**"
            value = self._expression(keyword.value)
            yield f"{name}={value}"

    def _function(self, node: _Function, word: str) -> _Lines:
        yield from self._decorators(node)
        shown = self._parameters(node.args)
        parameters = ", ".join(shown)
        line = f"{word} {node.name}"
        line += f"({parameters})"
        returns = node.returns
        if returns:
            returned = self._expression(returns)
            line += f" -> {returned}"
        line += _remark(node)
        yield line

    def _decorators(self, node: _Definition) -> _Lines:
        shown = node.decorator_list[:_MAX_DECORATORS]
        for decorator in shown:
            expression = self._expression(decorator)
            yield f"@{expression}"

    def _parameters(self, args: ast.arguments) -> _Lines:
        keywords = args.kwonlyargs
        yield from self._positional(args)
        if args.vararg:
            rest = self._parameter(args.vararg)
            yield f"*{rest}"
        elif keywords:
            yield "*"
        # A keyword without a default has None there.
        pairs = zip(keywords, args.kw_defaults, strict=True)
        for argument, default in pairs:
            yield self._parameter(argument, default)
        if args.kwarg:
            rest = self._parameter(args.kwarg)
            yield f"**{rest}"

    def _positional(self, args: ast.arguments) -> _Lines:
        """Yield the parameters before a star.

        The tree has one list of defaults for both kinds of them, and they belong to
        the last parameters. The slash comes after those that cannot be given by name.
        """
        nameless = args.posonlyargs
        slash = len(nameless)
        positional = nameless + args.args
        optional = len(args.defaults)
        required = len(positional) - optional
        defaults = iter(args.defaults)
        for number, argument in enumerate(positional, 1):
            default = None
            if number > required:
                default = next(defaults)
            yield self._parameter(argument, default)
            if number == slash:
                yield "/"

    def _parameter(self, argument: ast.arg, default: ast.expr | None = None) -> str:
        shown = argument.arg
        # As PEP 8 writes defaults.
        equals = "="
        annotation = argument.annotation
        if annotation:
            declared = self._expression(annotation)
            shown += f": {declared}"
            equals = " = "
        if default:
            value = self._value(default)
            shown += equals
            shown += value
        return shown

    def _value(self, node: ast.expr) -> str:
        """Show a default or a constant, abbreviated if it is long."""
        match node:
            case ast.List(elts=[_, _, _, _, *_]):
                return "[...]"
            case ast.Tuple(elts=[_, _, _, _, *_]):
                return "(...)"
            case ast.Set(elts=[_, _, _, _, *_]):
                return "{...}"
            case ast.Dict(keys=[_, _, *_]):
                return "{...}"
            case ast.Constant(value=str(text)) if len(text) > _LONG_TEXT:
                beginning = text[:_SHORT_TEXT]
                return f"{beginning!r}..."
            case ast.Lambda():
                return "lambda ..."
            case ast.Call() if _is_long(node, _LONG_CALL):
                called = self._expression(node.func)
                return f"{called}(...)"
            case _:
                return self._expression(node)

    def _expression(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        if _is_long(node, _LONG_EXPRESSION):
            return "..."
        if node.end_lineno != node.lineno:
            return ast.unparse(node)
        index = node.lineno - 1
        row = self._rows[index]
        start = node.col_offset
        end = node.end_col_offset
        if row.isascii():
            return row[start:end]
        # The parser counts columns in bytes.
        data = row.encode()
        shown = data[start:end]
        return shown.decode("utf-8", "replace")


def unfold(body: _Statements) -> _Statements:
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


def _remark(node: _Definition) -> str:
    doc = _doc(node)
    if not doc:
        return ""
    return f"  # {doc}"


def _doc(node: ast.Module | _Definition) -> str:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
            return first_sentence(text)
    return ""


def _is_long(node: ast.expr, limit: int) -> bool:
    """Judge by the place in the source, which also bounds the depth."""
    first_line = node.lineno
    last_line = node.end_lineno or first_line
    lines = last_line - first_line
    if lines:
        return lines > _MANY_LINES
    end = node.end_col_offset or 0
    columns = end - node.col_offset
    return columns > limit

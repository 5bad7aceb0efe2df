"""Find assertions whose result does not depend on the code under test."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from agentos.proving.inspection.parsing import Names, dotted

_PURE_NAMES = """
len int str bool float isinstance sorted list tuple set dict max min sum abs type repr any all range round frozenset
bytes object
"""
_PURE = frozenset(_PURE_NAMES.split())
_OPPOSITE = {
    ast.Is: ast.IsNot,
    ast.Eq: ast.NotEq,
    ast.In: ast.NotIn,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
}
_LITERALS = (
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.UnaryOp,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
)
_PARTS = (
    ast.IfExp,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Subscript,
    ast.Slice,
    ast.Starred,
    ast.keyword,
)
_UNITTEST: Mapping[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertIs": ast.Is,
    "assertListEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertIn": ast.In,
    "assertGreaterEqual": ast.GtE,
    "assertLessEqual": ast.LtE,
    "assertAlmostEqual": ast.Eq,
}
_DECIDED = "is decided without the code under test"
_IMMUTABLE = (
    ast.Constant,
    ast.Tuple,
    ast.UnaryOp,
    ast.BinOp,
    ast.unaryop,
    ast.operator,
    ast.expr_context,
)


def tautology(test: ast.expr, constants: Names) -> str:
    """Return why an asserted expression proves nothing, empty when it may prove
    something.

    `constants` are names of literals that nothing changes.
    """
    match test:
        case ast.Tuple(elts=[_, *_]):
            return "asserts a tuple, which is always true"
        case ast.Lambda() | ast.GeneratorExp():
            return "asserts an object that is always true"
        case ast.List(elts=[_, *_]) | ast.Set(elts=[_, *_]) | ast.Dict(keys=[_, *_]):
            return "asserts a literal, which is always true"
    if is_decided(test, constants):
        return _DECIDED
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return tautology(operand, constants) and _DECIDED
        case ast.BoolOp():
            return _of_boolean(test, constants)
        case ast.Compare(ops=[operator], comparators=[right]):
            return _of_comparison(test.left, operator, right)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return "everything is an object"
    return ""


def unittest_assertion(call: ast.Call) -> ast.expr | None:
    """Return the expression that a `self.assert...` call asserts, None for any other
    call.
    """
    if not isinstance(call.func, ast.Attribute):
        return None
    name = call.func.attr
    match call.args:
        case [first, *_] if name in ("assertTrue", "assertIsNotNone"):
            return first
        case [first, *_] if name == "assertFalse":
            return ast.UnaryOp(ast.Not(), first)
        case [first, second, *_] if name == "assertIsInstance":
            function = ast.Name("isinstance", ast.Load())
            return ast.Call(function, [first, second], [])
        case [first, second, *_] if name in _UNITTEST:
            operator = _UNITTEST[name]()
            return ast.Compare(first, [operator], [second])
    return None


def is_decided(node: ast.expr, constants: Names) -> bool:
    """Tell whether an expression consists of literals, constant names and pure builtins
    only.
    """
    for part in ast.walk(node):
        match part:
            case ast.Call(func=function):
                if dotted(function) not in _PURE:
                    return False
            case ast.Name(id=name):
                if name not in constants and name not in _PURE:
                    return False
            case ast.expr() | ast.keyword():
                if not isinstance(part, _LITERALS + _PARTS):
                    return False
    return True


def immutable_literal(node: ast.expr | None) -> bool:
    """Tell whether an expression is a literal that no callee can change."""
    if node is None:
        return False
    return all(isinstance(part, _IMMUTABLE) for part in ast.walk(node))


def _of_boolean(test: ast.BoolOp, constants: Names) -> str:
    reasons = [tautology(part, constants) for part in test.values]
    if isinstance(test.op, ast.And):
        return reasons[0] if all(reasons) else ""
    if any(reasons):
        return "has an alternative that is always true"
    seen = set()
    for part in test.values:
        match part:
            case ast.Compare(ops=[operator], comparators=[right]):
                left = ast.dump(part.left)
                seen.add((left, ast.dump(right), type(operator)))
    for left, other, kind in seen:
        if kind in _OPPOSITE and (left, other, _OPPOSITE[kind]) in seen:
            return "asserts a thing or its opposite"
    return ""


def _of_comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> str:
    match left, operator, right:
        case ast.Call(func=ast.Name(id="len")), ast.GtE(), ast.Constant(value=0):
            return "no length is below 0"
    if not isinstance(operator, ast.Eq | ast.Is | ast.LtE | ast.GtE):
        return ""
    # Two calls can return different values.
    if any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(left)):
        return ""
    if ast.dump(left) == ast.dump(right):
        return "compares a thing with itself"
    return ""

"""Tell assertions that say something about the code from those that are decided without it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from agentos.inspection.parsing import dotted

_PURE_NAMES = """
len int str bool float isinstance sorted list tuple set dict max min sum abs type repr any all range round frozenset
bytes object
"""
_PURE = frozenset(_PURE_NAMES.split())
_OPPOSITE = {ast.Is: ast.IsNot, ast.Eq: ast.NotEq, ast.In: ast.NotIn, ast.Lt: ast.GtE, ast.Gt: ast.LtE}
_LITERALS = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare)
_PARTS = (ast.IfExp, ast.JoinedStr, ast.FormattedValue, ast.Subscript, ast.Slice, ast.Starred, ast.keyword)
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


def tautology(test: ast.expr, constants: frozenset[str] = frozenset()) -> str:
    """Return why an asserted expression proves nothing, empty when it may prove something.

    `constants` are names that hold a literal that nothing changes.
    """
    if isinstance(test, ast.Tuple) and test.elts:
        return "asserts a tuple, which is always true"
    if isinstance(test, ast.Lambda | ast.GeneratorExp):
        return "asserts an object that is always true"
    if (isinstance(test, ast.List | ast.Set) and test.elts) or (isinstance(test, ast.Dict) and test.keys):
        return "asserts a literal, which is always true"
    if is_decided(test, constants):
        return _DECIDED
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = tautology(test.operand, constants)
        return inner and _DECIDED
    if isinstance(test, ast.BoolOp):
        return _of_boolean(test, constants)
    if isinstance(test, ast.Compare):
        return _of_comparison(test)
    if isinstance(test, ast.Call) and dotted(test.func) == "isinstance" and len(test.args) == 2:
        return "everything is an object" if dotted(test.args[1]) == "object" else ""
    return ""


def unittest_assertion(call: ast.Call) -> ast.expr | None:
    """Return what a `self.assert...` call asserts as an expression, None when it is another kind of call."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    args = call.args
    if name in ("assertTrue", "assertIsNotNone") and args:
        return args[0]
    if name == "assertFalse" and args:
        return ast.UnaryOp(ast.Not(), args[0])
    if name == "assertIsInstance" and len(args) >= 2:
        return ast.Call(ast.Name("isinstance", ast.Load()), args[:2], [])
    if name in _UNITTEST and len(args) >= 2:
        return ast.Compare(args[0], [_UNITTEST[name]()], [args[1]])
    return None


def is_decided(node: ast.expr, constants: frozenset[str]) -> bool:
    """Tell whether an expression consists of literals, constant names and pure builtins only."""
    functions: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            if not isinstance(part.func, ast.Name) or part.func.id not in _PURE:
                return False
            functions.add(id(part.func))
        elif isinstance(part, ast.Name):
            if id(part) not in functions and part.id not in constants and part.id not in _PURE:
                return False
        elif isinstance(part, ast.expr | ast.keyword) and not isinstance(part, (*_LITERALS, *_PARTS)):
            return False
    return True


def immutable_literal(node: ast.expr | None) -> bool:
    """Tell whether an expression is a literal that no callee can change."""
    if node is None:
        return False
    kinds = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator, ast.expr_context)
    return all(isinstance(part, kinds) for part in ast.walk(node))


def _of_boolean(test: ast.BoolOp, constants: frozenset[str]) -> str:
    parts = [tautology(part, constants) for part in test.values]
    if isinstance(test.op, ast.And):
        return parts[0] if all(parts) else ""
    if any(isinstance(part, ast.Constant) and part.value for part in test.values) or any(parts):
        return "has an alternative that is always true"
    compared = [part for part in test.values if isinstance(part, ast.Compare) and len(part.ops) == 1]
    seen = {(ast.dump(part.left), ast.dump(part.comparators[0]), type(part.ops[0])) for part in compared}
    for left, right, kind in seen:
        if kind in _OPPOSITE and (left, right, _OPPOSITE[kind]) in seen:
            return "asserts a thing or its opposite"
    return ""


def _of_comparison(test: ast.Compare) -> str:
    if len(test.ops) != 1:
        return ""
    left, kind, right = test.left, test.ops[0], test.comparators[0]
    has_call = any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(left))
    if not has_call and isinstance(kind, ast.Eq | ast.Is | ast.LtE | ast.GtE) and ast.dump(left) == ast.dump(right):
        return "compares a thing with itself"
    is_length = isinstance(left, ast.Call) and dotted(left.func) == "len"
    if is_length and isinstance(kind, ast.GtE) and isinstance(right, ast.Constant) and right.value == 0:
        return "no length is below 0"
    return ""

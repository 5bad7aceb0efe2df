"""Find assertions whose result does not depend on the code under test."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from agentos.proving.inspection.parsing import Names, dotted, last_name

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
Values = Mapping[str, ast.expr]
_ITSELF = "compares a thing with itself"
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
            return _of_negation(operand, constants)
        case ast.BoolOp():
            return _of_boolean(test, constants)
        case ast.Compare():
            return _of_chain(test)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return "everything is an object"
        case ast.Call(func=ast.Name(id="all"), args=[each]):
            return _of_each(each, constants)
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
    parts = set(map(ast.dump, test.values))
    for part in test.values:
        match part:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                if ast.dump(operand) in parts:
                    return "asserts a thing or its opposite"
            case ast.Compare(ops=[operator], comparators=[right]):
                left = ast.dump(part.left)
                seen.add((left, ast.dump(right), type(operator)))
    for left, other, kind in seen:
        if kind in _OPPOSITE and (left, other, _OPPOSITE[kind]) in seen:
            return "asserts a thing or its opposite"
    return ""


def _of_negation(operand: ast.expr, constants: Names) -> str:
    match operand:
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            return _of_equals(left, right)
    return tautology(operand, constants) and _DECIDED


def _of_each(node: ast.expr, constants: Names) -> str:
    """Return why a claim about all of several things proves nothing."""
    match node:
        case ast.GeneratorExp(elt=claim) | ast.ListComp(elt=claim):
            return tautology(claim, constants)
    return ""


def _of_chain(test: ast.Compare) -> str:
    """Return why a comparison proves nothing: each of its pairs does."""
    left = test.left
    reason = ""
    pairs = zip(test.ops, test.comparators, strict=True)
    for operator, right in pairs:
        reason = _of_comparison(left, operator, right)
        if not reason:
            return ""
        left = right
    return reason


def _of_comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> str:
    match left, operator, right:
        case (_, ast.GtE(), ast.Constant(value=0)) if _is_length(left):
            return "no length is below 0"
        case (_, ast.Gt(), ast.UnaryOp(op=ast.USub())) if _is_length(left):
            return "no length is below 0"
        case (ast.Constant(value=0), ast.LtE(), _) if _is_length(right):
            return "no length is below 0"
        case _, ast.In(), (ast.List(elts=several) | ast.Tuple(elts=several)):
            return _of_membership(left, several)
    if not isinstance(operator, ast.Eq | ast.Is | ast.LtE | ast.GtE):
        return ""
    # Whether an object is ordered can be what is built, and so can it be that two calls
    # return different objects.
    match left, operator:
        case ast.Name(), (ast.LtE() | ast.GtE()):
            return ""
    if isinstance(operator, ast.Is) and _has_call(left):
        return ""
    return _of_equals(left, right)


def _of_equals(left: ast.expr, right: ast.expr) -> str:
    """Return why it proves nothing that two things are equal."""
    match left, right:
        case ast.NamedExpr(target=ast.Name(id=name)), ast.Name(id=other):
            return _ITSELF if name == other else ""
    # The equality of two objects that a class makes may be what is built.
    if _makes_object(left):
        return ""
    if _is_same(left, right):
        return _ITSELF
    return ""


def _makes_object(node: ast.expr) -> bool:
    """Tell whether an expression calls what is named like a class, or hashes that."""
    match node:
        case ast.Call(func=ast.Name(id="hash"), args=[hashed]):
            node = hashed
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    first = name[:1]
    return first.isupper()


def _of_membership(left: ast.expr, several: list[ast.expr]) -> str:
    for each in several:
        if _of_equals(left, each):
            return _ITSELF
    return ""


def _is_same(left: ast.expr, right: ast.expr) -> bool:
    one = ast.dump(left)
    other = ast.dump(right)
    return one == other


def _is_length(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len" | "abs")):
            return True
    return False


def _has_call(node: ast.expr) -> bool:
    for part in ast.walk(node):
        match part:
            case ast.Call() | ast.Await():
                return True
    return False


def compares_copies(test: ast.expr, assigned: Sequence[tuple[str, ast.expr]]) -> str:
    """Return why an assertion proves nothing because a name in it was given the value
    that it is compared with; `assigned` are the assignments right before it.

    Anything that could change the value in between is none of these assignments.
    """
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            pass
        case _:
            return ""
    values: dict[str, ast.expr] = {}
    calls = set()
    for name, value in assigned:
        values[name] = _value_of(value, values)
        if not _has_call(value):
            continue
        call = ast.dump(value)
        calls.add(call)
    if len(calls) > 1:
        # One of the calls may change what the other one returns.
        return ""
    given = _value_of(left, values)
    wanted = _value_of(right, values)
    if given is left and wanted is right:
        return ""
    return _of_equals(given, wanted)


def _value_of(node: ast.expr, values: Values) -> ast.expr:
    """Return what was assigned to a name, and any other expression unchanged."""
    if not isinstance(node, ast.Name):
        return node
    return values.get(node.id, node)

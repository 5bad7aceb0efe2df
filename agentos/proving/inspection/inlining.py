"""Put what a test's own helpers return in place of calls of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy

from agentos.proving.inspection.parsing import (
    Function,
    dotted,
    without_docstrings,
)

Helpers = Mapping[str, Function]
"""The functions of a test file by name."""


def inline_helpers(node: ast.expr, helpers: Helpers) -> ast.expr:
    """Return an expression without calls of helpers that only return an expression."""
    inlining = _Inlining()
    inlining.helpers = helpers
    copy = deepcopy(node)
    inlined: ast.expr = inlining.visit(copy)
    return inlined


class _Inlining(ast.NodeTransformer):
    """Replace calls of helpers."""

    helpers: Helpers

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return what the helper returns for these arguments."""
        self.generic_visit(node)
        name = dotted(node.func)
        helper = self.helpers.get(name)
        if helper is None or node.keywords:
            return node
        # A decorator may change what is returned, as that of a fixture does.
        if helper.decorator_list:
            return node
        parameters = helper.args.args
        if len(parameters) != len(node.args):
            return node
        filling = _Filling()
        filling.given = {}
        pairs = zip(parameters, node.args, strict=True)
        for parameter, argument in pairs:
            name = parameter.arg
            filling.given[name] = argument
        match without_docstrings(helper.body):
            case [ast.Return(value=ast.expr() as value)]:
                copy = deepcopy(value)
                filled: ast.expr = filling.visit(copy)
                return filled
        return node


class _Filling(ast.NodeTransformer):
    """Put the arguments of a call in place of the parameters."""

    given: dict[str, ast.expr]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the argument of that name."""
        return self.given.get(node.id, node)

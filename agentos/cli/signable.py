"""Find the item whose document a command is about."""

from __future__ import annotations

from agentos.backlog.selection import normalize_id
from agentos.cli.command import Arguments
from agentos.errors import UsageError
from agentos.item import Item
from agentos.kinds import DRAFTING, Kind, installed_kinds
from agentos.run.signing import Document, is_signable, open_document


def find_document(arguments: Arguments) -> Document:
    """Return the document that `arguments.item` names: `42` is a design, `ISSUE-42` an
    issue.
    """
    name = arguments.item
    upper = name.upper()
    kinds = [kind for kind in installed_kinds() if is_signable(kind)]
    labeled = [kind for kind in kinds if upper.startswith(f"{kind.record.label}-")]
    arguments.home.check_private()
    problem = UsageError(f"{name}: no such item")
    for kind in labeled or sorted(kinds, key=_order):
        item = Item(kind, normalize_id(name, kind), "")
        try:
            return open_document(
                arguments.repository, arguments.home, arguments.repository_key, item
            )
        except UsageError as error:
            if kind == Kind.LLD or labeled:
                problem = error
    raise problem


def _order(kind: Kind) -> int:
    """Designs come first: they are what people sign."""
    if kind == Kind.LLD:
        return 0
    return 1 if kind in DRAFTING else 2

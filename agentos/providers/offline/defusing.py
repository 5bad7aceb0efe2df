"""Make a stranger's text safe to quote: nothing in it can open a comment in the new document."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

Record = TypeVar("Record")


def defuse(record: Record, *, keep: frozenset[str] = frozenset({"text"})) -> Record:
    """Return a frozen record whose strings hold no comment mark; the named top-level fields are kept."""
    if not is_dataclass(record) or isinstance(record, type):
        return record
    changes = {f.name: _defuse(getattr(record, f.name)) for f in fields(record) if f.init and f.name not in keep}
    return cast(Record, replace(record, **changes))


def _defuse(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("<!--", "<! --")
    if isinstance(value, tuple):
        return tuple(_defuse(entry) for entry in value)
    return defuse(value, keep=frozenset()) if is_dataclass(value) else value

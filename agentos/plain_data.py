"""Convert frozen records to JSON data and back, for other processes of this version.

Both sides are this code, so reading tolerates nothing: a missing or unknown field and a
value of another type are errors.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def to_data(record: Any) -> dict[str, Any]:
    """Return a record as JSON data."""
    data = {}
    for each in fields(record):
        value = getattr(record, each.name)
        data[each.name] = _plain(value)
    return data


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_data(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        # A member of an enumeration is more than text.
        return str(value)
    return value


def from_data(record: type[Record], data: Any) -> Record:
    """Return the record that was converted to this data, or raise `ValueError`."""
    kind: Any = record
    types = _types(kind)
    name = kind.__name__
    if not isinstance(data, dict):
        raise ValueError(f"{name}: must be an object")
    if data.keys() != types.keys():
        wanted = ", ".join(types)
        raise ValueError(f"{name}: needs exactly the fields {wanted}")
    values = {}
    for field in types:
        wanted_type = types[field]
        value = data[field]
        place = f"{name}.{field}"
        values[field] = _read(
            wanted_type,
            value,
            place,
        )
    return record(**values)


@cache
def _types(record: Any) -> dict[str, Any]:
    """Return the type of every field, in order."""
    hints = get_type_hints(record)
    names = [each.name for each in fields(record)]
    types = {}
    for name in names:
        types[name] = hints[name]
    return types


def _read(wanted: Any, value: Any, place: str) -> Any:
    """Return a value of a type: a plain one, a tuple, a record, or None."""
    arguments = get_args(wanted)
    if NoneType in arguments:
        # Written as `Record | None`.
        if value is None:
            return None
        return _read(arguments[0], value, place)
    if get_origin(wanted) is tuple:
        if isinstance(value, list):
            inner = arguments[0]
            return tuple(_read(inner, each, place) for each in value)
    elif is_dataclass(wanted):
        record: Any = wanted
        return from_data(record, value)
    elif type(value) is wanted:
        return value
    elif isinstance(value, str):
        # A name with a meaning: a kind, or a member of an enumeration.
        is_name = issubclass(wanted, str)
        if is_name:
            return wanted(value)
    shown = repr(value)[:80]
    raise ValueError(f"{place}: is {shown}, not {wanted}")

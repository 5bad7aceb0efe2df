"""Read and edit the key file: it must be private, and the user's own text stays as it
is.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentos.errors import UsageError
from agentos.gateway.keys import DEFAULT_MAX_PARALLEL, Key
from agentos.gateway.keys.entries import (
    Group,
    default_group,
    make_group,
    make_key,
    name_unknown,
)
from agentos.gateway.keys.groups import share_limits
from agentos.gateway.keys.tables import append_table, drop_table
from agentos.state.files import make_private_directory, write_atomically

FILE_NAME = "keys.toml"
LOCK_NAME = "keys.toml.lock"
LARGEST_FILE = 1_000_000
LONGEST_LINE = 8_192
MOST_TABLES = 1_000
_PLACE = re.compile(r"\(at line (\d{1,9}), column (\d{1,9})\)\Z")

_Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """Contents of the key file."""

    keys: tuple[Key, ...] = ()
    groups: tuple[Group, ...] = ()


def read_document(home: Path) -> Document:
    """Read the key file of a home; without one there are no keys."""
    return parse_document(read_text(home / FILE_NAME))


def read_text(path: Path) -> str:
    """Return the text of the key file, empty without one; refuse a file that others can
    read or write.
    """
    try:
        # The open descriptor is checked: a link is followed, and its target has to be
        # private too.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if path.is_symlink():
            raise UsageError(
                f"{path}: is a link that leads nowhere; correct or remove it"
            ) from None
        return ""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no usable path"
        raise UsageError(
            f"{path}: cannot be read ({reason}); correct its owner and permissions"
        ) from None
    try:
        _refuse_unguarded(path, os.fstat(descriptor))
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); check the disk"
        ) from None
    finally:
        os.close(descriptor)
    if len(data) > LARGEST_FILE:
        raise UsageError(
            f"{path}: is over 1 MB; keep nothing but keys and groups in it"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}: is not UTF-8 text at line {line}; correct that line"
        ) from None


def parse_document(text: str) -> Document:
    """Parse and check every table of the key file."""
    data = load_toml(text)
    for name in data:
        if name not in ("key", "group"):
            raise UsageError(
                f"{FILE_NAME}: {name_unknown('table', name, ('key', 'group'))}"
            )
    keys = [
        make_key(fields, f"{FILE_NAME}, key {number}")
        for number, fields in _tables(data, "key")
    ]
    groups = [
        make_group(fields, f"{FILE_NAME}, group {number}")
        for number, fields in _tables(data, "group")
    ]
    return Document(tuple(keys), tuple(groups))


def load_toml(text: str) -> _Table:
    """Parse TOML; an error names only the position, as the text there may be a key."""
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            raise UsageError(
                f"{FILE_NAME}: line {number} is over {LONGEST_LINE:,} characters long;"
                " correct it"
            )
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        place = _PLACE.search(str(error))
        where = (
            f"at line {place[1]}, column {place[2]}"
            if place
            else "at its end or in a value"
        )
    raise UsageError(f"{FILE_NAME}: is not valid TOML {where}; correct it there")


def add_key(home: Path, key: Key) -> Key:
    """Append a key to the file and return it with its new source, or raise `UsageError`
    and change nothing.
    """
    with _locked(home) as path:
        before = read_text(path)
        document = parse_document(before)
        for other in document.keys:
            if other.fingerprint == key.fingerprint:
                raise UsageError(_explain_duplicate(key, other))
        after = append_table(before, _render(key))
        # A group with contradicting limits is refused before the file changes.
        added = replace(key, source=f"{FILE_NAME}, key {len(document.keys) + 1}")
        share_limits((*document.keys, added), document.groups)
        try:
            is_as_meant = parse_document(after) == replace(
                document, keys=(*document.keys, added)
            )
        except UsageError:
            is_as_meant = False
        if not is_as_meant:
            raise UsageError(
                f"{path}: cannot be extended as it is written; add a [[key]] table by"
                " hand"
            )
        _write(path, after)
        return added


def remove_key(home: Path, name: str) -> int:
    """Remove the first key of this name from the file; return how many of that name
    remain.
    """
    with _locked(home) as path:
        before = read_text(path)
        document = parse_document(before)
        places = [
            place for place, key in enumerate(document.keys) if key.fingerprint == name
        ]
        if not places:
            raise UsageError("no such key in keys.toml; see: agentos keys list")
        after = drop_table(before, "key", places[0])
        wanted = load_toml(before)
        del wanted["key"][places[0]]
        if after is None or not _says(after, wanted):
            raise UsageError(
                f"{path}: cannot be edited as it is written; remove key {places[0] + 1}"
                " by hand"
            )
        _write(path, after)
        return len(places) - 1


def _says(text: str, wanted: _Table) -> bool:
    try:
        found = load_toml(text)
    except UsageError:
        return False
    return {"key": [], **found} == {"key": [], **wanted}


def _tables(data: _Table, name: str) -> Iterator[tuple[int, _Table]]:
    tables = data.get(name, [])
    if not isinstance(tables, list) or not all(
        isinstance(table, dict) for table in tables
    ):
        raise UsageError(
            f"{FILE_NAME}: {name} is not a list of tables; begin each of them with"
            f" [[{name}]]"
        )
    if len(tables) > MOST_TABLES:
        raise UsageError(
            f"{FILE_NAME}: has over {MOST_TABLES:,} [[{name}]] tables; remove those"
            " that are not needed"
        )
    yield from enumerate(tables, 1)


def _refuse_unguarded(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path}: is not an ordinary file; remove it")
    if status.st_uid != os.geteuid():
        raise UsageError(
            f"{path}: belongs to another user (uid {status.st_uid}); make a file of"
            " your own there"
        )
    if status.st_mode & 0o077:
        raise UsageError(
            f"{path}: others may read or write your keys; run: chmod 600"
            f" {shlex.quote(str(path))}"
        )


def _explain_duplicate(key: Key, other: Key) -> str:
    if key.base_url == other.base_url:
        return f"{key.fingerprint} is there already ({other.source}); nothing was added"
    return (
        f"{key.fingerprint} is there already with another base_url ({other.source}); "
        "give each server a key of its own, any word where it asks for none"
    )


def _render(key: Key) -> str:
    fields: dict[str, str | int] = {"provider": key.provider, "key": key.secret}
    if key.group != default_group(key.provider, key.secret, key.base_url):
        fields["group"] = key.group
    if key.max_parallel != DEFAULT_MAX_PARALLEL:
        fields["max_parallel"] = key.max_parallel
    fields |= {
        "base_url": key.base_url,
        "requests_per_minute": key.requests_per_minute,
        "tokens_per_minute": key.tokens_per_minute,
    }
    # JSON of printable text and whole numbers is valid TOML.
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in fields.items()
        if value
    ]
    return "\n".join(["[[key]]", *lines]) + "\n"


def _write(path: Path, text: str) -> None:
    # A link stays a link: its target is replaced.
    target = path.resolve()
    temporary = target.with_name(f".{FILE_NAME}.tmp")
    try:
        # We hold the lock, so an existing file is a remainder of a killed command and
        # contains keys.
        temporary.unlink(missing_ok=True)
        write_atomically(target, text.encode(), temporary=temporary)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be written ({error.strerror}); nothing was changed"
        ) from None


@contextmanager
def _locked(home: Path) -> Iterator[Path]:
    """Keep other commands from changing the key file."""
    try:
        make_private_directory(home)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(home / LOCK_NAME, flags, 0o600)
    except OSError as error:
        raise UsageError(
            f"{home}: cannot be written ({error.strerror}); set AGENTOS_HOME to a"
            " folder that can"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield home / FILE_NAME
    finally:
        os.close(descriptor)

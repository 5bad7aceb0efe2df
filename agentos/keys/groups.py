"""Quota groups: the keys of one group share one provider and one set of limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentos.errors import UsageError
from agentos.keys import Key
from agentos.keys.entries import Group

SHORTEST_TELLING = 8
"""A shorter secret than this is a placeholder, which may occur in any text."""


def share_limits(keys: Sequence[Key], groups: Sequence[Group]) -> tuple[Key, ...]:
    """Give every key the limits of its group; raise `UsageError` where two of a group do not agree."""
    _refuse_secret_names(keys, groups)
    tables: dict[tuple[str, str], Group] = {}
    for group in groups:
        first = tables.setdefault((group.provider, group.name), group)
        if first is not group:
            raise UsageError(f"{group.source}: has the name of {first.source}; keep one of the two, or rename one")
    members: dict[str, list[Key]] = defaultdict(list)
    for key in keys:
        members[key.group].append(key)
    shared: dict[str, tuple[int, int]] = {}
    for name, those in members.items():
        _refuse_two_providers(those, [group for group in groups if group.name == name])
        table = tables.get((those[0].provider, name))
        stated: list[Key | Group] = [*those, table] if table else [*those]
        shared[name] = (
            _agree([(one.requests_per_minute, one.source) for one in stated], "requests_per_minute"),
            _agree([(one.tokens_per_minute, one.source) for one in stated], "tokens_per_minute"),
        )
    return tuple(
        replace(key, requests_per_minute=shared[key.group][0], tokens_per_minute=shared[key.group][1]) for key in keys
    )


def find_unused(keys: Iterable[Key], groups: Iterable[Group]) -> list[str]:
    """Say which groups have a table and no key."""
    used = {(key.provider, key.group) for key in keys}
    return [
        f"{group.source}: no key is in this group; write its name as group in a [[key]] table"
        for group in groups
        if (group.provider, group.name) not in used
    ]


def _agree(stated: Iterable[tuple[int, str]], field: str) -> int:
    told = [(limit, source) for limit, source in stated if limit]
    for limit, source in told[1:]:
        if limit != told[0][0]:
            raise UsageError(
                f"{source}: has another {field} than {told[0][1]} of the same group; a group has one limit: correct one"
            )
    return told[0][0] if told else 0


def _refuse_two_providers(members: Sequence[Key], tables: Sequence[Group]) -> None:
    first = members[0]
    for key in members[1:]:
        if key.provider != first.provider:
            raise UsageError(
                f"{key.source}: is a key of {key.provider} in the same group as {first.source}, a key of "
                f"{first.provider}; give each provider groups of its own"
            )
    if tables and all(table.provider != first.provider for table in tables):
        raise UsageError(
            f"{first.source}: is a key of {first.provider} in a group of {tables[0].provider} ({tables[0].source}); "
            "give it another group"
        )


def _refuse_secret_names(keys: Sequence[Key], groups: Sequence[Group]) -> None:
    """Refuse a key where a name belongs: names are shown."""
    secrets = {key.secret for key in keys if len(key.secret) >= SHORTEST_TELLING}
    shown = [(text, key.source) for key in keys for text in (key.group, key.base_url)]
    shown += [(group.name, group.source) for group in groups]
    for text, source in shown:
        # Short enough to look for each of them: all texts are bounded, and most are empty or fingerprints.
        if any(secret in text for secret in secrets):
            raise UsageError(f"{source}: its group or base_url holds a key; keep the key in key alone")

"""Share rate limits among the keys of a quota group, which belong to one provider."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentos.errors import UsageError
from agentos.gateway.keys import Key
from agentos.gateway.keys.entries import Group

SHORTEST_TELLING = 8
"""Shorter secrets are placeholders that may occur in any text."""

_Identity = tuple[str, str]
"""Provider and name of a group."""


def share_limits(keys: Sequence[Key], groups: Sequence[Group]) -> tuple[Key, ...]:
    """Return every key with the limits of its group, or raise `UsageError` when the
    entries of a group contradict each other.
    """
    _refuse_secret_names(keys, groups)
    tables: dict[_Identity, Group] = {}
    for group in groups:
        identity = (group.provider, group.name)
        first = tables.setdefault(identity, group)
        if first is not group:
            raise UsageError(
                f"{group.source}: has the name of {first.source}; keep one of the two,"
                " or rename one"
            )
    members = defaultdict(list)
    for key in keys:
        members[key.group].append(key)
    requests = {}
    tokens = {}
    for name, own in members.items():
        namesakes = [group for group in groups if group.name == name]
        _refuse_two_providers(own, namesakes)
        provider = own[0].provider
        table = tables.get((provider, name))
        requests[name] = _agree_on(own, table, "requests_per_minute")
        tokens[name] = _agree_on(own, table, "tokens_per_minute")
    shared = []
    for key in keys:
        changed = replace(
            key,
            requests_per_minute=requests[key.group],
            tokens_per_minute=tokens[key.group],
        )
        shared.append(changed)
    return tuple(shared)


def find_unused(keys: Iterable[Key], groups: Iterable[Group]) -> list[str]:
    """Return a message for each group that has a table but no key."""
    used = set()
    for key in keys:
        used.add((key.provider, key.group))
    problems = []
    for group in groups:
        identity = (group.provider, group.name)
        if identity not in used:
            problems.append(
                f"{group.source}: no key is in this group; write its name as group in"
                " a [[key]] table"
            )
    return problems


def _agree_on(keys: Sequence[Key], table: Group | None, field: str) -> int:
    """Return the one limit that the entries of a group state, 0 when none states one."""
    entries: list[Key | Group] = list(keys)
    if table is not None:
        entries.append(table)
    agreed = 0
    origin = ""
    for entry in entries:
        limit: int = getattr(entry, field)
        if not limit:
            continue
        if not agreed:
            agreed = limit
            origin = entry.source
        if limit != agreed:
            raise UsageError(
                f"{entry.source}: its {field} differs from that of {origin} in the"
                " same group; give both the same value"
            )
    return agreed


def _refuse_two_providers(members: Sequence[Key], tables: Sequence[Group]) -> None:
    first = members[0]
    for key in members:
        if key.provider != first.provider:
            raise UsageError(
                f"{key.source}: is a key of {key.provider} in the same group as"
                f" {first.source}, a key of {first.provider}; give each provider groups"
                " of its own"
            )
    providers = [table.provider for table in tables]
    if providers and first.provider not in providers:
        source = tables[0].source
        raise UsageError(
            f"{first.source}: is a key of {first.provider} in a group of"
            f" {providers[0]} ({source}); give it another group"
        )


def _refuse_secret_names(keys: Sequence[Key], groups: Sequence[Group]) -> None:
    """Refuse a key inside a name or an address, since those are shown."""
    shown = []
    for key in keys:
        shown.append((key.group, key.source))
        shown.append((key.base_url, key.source))
    shown += [(group.name, group.source) for group in groups]
    secrets = {key.secret for key in keys}
    # All texts are bounded and most are empty or fingerprints, so searching each text
    # for each secret is fast enough.
    for text, source in shown:
        for secret in secrets:
            is_telling = len(secret) >= SHORTEST_TELLING
            if is_telling and secret in text:
                raise UsageError(
                    f"{source}: its group or base_url holds a key; keep the key in key"
                    " alone"
                )

"""Find the record of a provider by its name: built in, or from an installed package.

A package offers a provider with an entry point in the group `agentos.providers` that
has the provider's name and refers to its record. Packages are looked at only for a name
that is not built in, because reading what is installed is slow, and a broken package
must not harm runs that do not use it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from agentos.entry_points import describe_error, entry_points_of, load_record, refuse
from agentos.errors import AgentOSError, UsageError
from agentos.gateway.providers.records import BUILT_IN, ProviderRecord
from agentos.state.redaction import register_shape

GROUP = "agentos.providers"
METHODS = ("needs_key", "complete", "check", "prepare", "close")
"""What a provider must have; one that derives from `Provider` has it."""
_NAME = re.compile("[a-z0-9][a-z0-9_-]*")
_FACTORY = re.compile(r"[\w.]+:\w+")


def find_record(name: str) -> ProviderRecord:
    """Return the record of a provider, or raise `UsageError`."""
    record = BUILT_IN.get(name)
    if record is None:
        record = _load(name)
    return record


def check_name(name: str) -> None:
    """Raise `UsageError` for an unknown provider, without importing a known one: it may
    be broken, and named in a setting of a run that does not use it.
    """
    if name in BUILT_IN or name in installed_names():
        return
    known = ", ".join([*sorted(BUILT_IN), *installed_names()])
    raise UsageError(
        f"unknown provider {name[:80]!r}: use one of {known}, as provider:model"
    )


@cache
def installed_names() -> tuple[str, ...]:
    """Return the names of the providers of other packages, without importing them."""
    return tuple(sorted(entry_points_of(GROUP).keys() - BUILT_IN.keys()))


def load_installed() -> tuple[list[ProviderRecord], list[str]]:
    """Return the records of all other packages, and what is wrong with broken ones."""
    records = []
    problems = []
    for name in installed_names():
        try:
            record = _load(name)
        except UsageError as error:
            problems.append(str(error))
        else:
            records.append(record)
    return records, problems


def make_provider(record: ProviderRecord, model: str) -> Any:
    """Import the factory of a provider and call it with the text after the colon."""
    module, _, attribute = record.factory.partition(":")
    try:
        factory = getattr(import_module(module), attribute)
        provider = factory(model)
        for method in METHODS:
            getattr(provider, method)
        if provider.needs_key and not record.has_keys:
            raise TypeError("needs_key is set, but its record has no key_variable")
        return provider
    except AgentOSError:
        raise
    except (Exception, SystemExit) as error:
        if record.name in BUILT_IN:
            raise
        problem = describe_error(error)
        raise refuse("provider", record.name, record.factory, problem) from error


@cache
def _load(name: str) -> ProviderRecord:
    check_name(name)
    entries = entry_points_of(GROUP)[name]

    def find_problem(record: ProviderRecord) -> str:
        return _find_problem(record, name)

    return load_record(entries, "provider", ProviderRecord, find_problem)


def _find_problem(record: ProviderRecord, name: str) -> str:
    """Return what is wrong with the record of a package, empty if nothing is."""
    if record.name in BUILT_IN:
        return f"{record.name!r} is a built-in provider; give it a name of its own"
    if record.name != name:
        return f"its record is named {record.name!r}; give both the same name"
    if not _NAME.fullmatch(name):
        return "its name must be of small letters, digits, - and _"
    if not _FACTORY.fullmatch(record.factory):
        return f"its factory {record.factory!r} must be module:name"
    if record.key_shape:
        register_shape(record.key_shape)
    return ""

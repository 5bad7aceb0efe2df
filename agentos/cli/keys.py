"""`agentos keys`: list, add, remove and check API keys without ever showing one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from agentos.cli.command import (
    Arguments,
    Parser,
    add_flag,
    align,
    flag_of,
    suggest,
)
from agentos.errors import AgentOSError, UsageError
from agentos.gateway.keys import Key
from agentos.gateway.keys.entries import LONGEST_KEY, is_optional_key, make_key
from agentos.gateway.keys.file import add_key, read_document, remove_key
from agentos.gateway.keys.sources import Keyring, read_keys
from agentos.gateway.providers.records import KEY_PROVIDERS
from agentos.gateway.providers.registry import find_record, load_installed
from agentos.state.terminal_text import print_clean

KEY_FLAGS = ("--key", "--api-key", "--secret", "--token")
COLUMNS = ("PROVIDER", "NAME", "GROUP", "SOURCE", "PARALLEL", "LIMITS", "STATE")
DESCRIPTION = """\
List, add, remove and check the API keys that model calls are made with. A key is never shown; it is known by a name.

examples:
  agentos keys add gemini                   ask for the key, without showing what is typed
  agentos keys add openai < key.txt         read the key from standard input
  agentos keys add openai --base-url http://127.0.0.1:11434/v1 < /dev/null   add a server that needs no key
  agentos keys list                         list every key with its source and state
  agentos keys check                        send each provider the cheapest request
  agentos keys remove gemini-3fa1c27b       remove a key from keys.toml
"""
EPILOG = """\
exit codes:
  0    done; for check: every key works
  1    check found a key that is refused, or a provider that cannot be reached
  2    the command, keys.toml or a key in the environment cannot be used, or there is no key to check

files:
  $AGENTOS_HOME/keys.toml   [[key]] tables; only you may read it (default home: ~/.agentos)

environment, read before keys.toml:
  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY   one key; more with _1, _2, ...
  GEMINI_API_KEYS, ANTHROPIC_API_KEYS, OPENAI_API_KEYS   several keys, comma-separated
  GOOGLE_API_KEY                                      for gemini, if no variable above sets a key for it
  GOOGLE_GEMINI_BASE_URL, ANTHROPIC_BASE_URL, OPENAI_BASE_URL   another address for the keys of the environment
  AGENTOS_CREDENTIAL_LIMIT=N                          use only the first N keys
"""
_TEXT_FIELDS = {
    "group": (
        "G",
        (
            "quota group: keys of one project or organization share its limits"
            " (default: a group of its own)"
        ),
    ),
    "base_url": ("URL", "use this address instead of the provider's own"),
}
_NUMBER_FIELDS = {
    "max_parallel": "maximum number of calls with this key at a time (default: 8)",
    "requests_per_minute": "limit of the quota group (default: learned)",
    "tokens_per_minute": "limit of the quota group (default: learned)",
}


def add_arguments(parser: Parser) -> None:
    """Add the subcommands."""
    parser.describe("agentos keys COMMAND [options]", DESCRIPTION, EPILOG)
    parser.hides_arguments = True
    commands = parser.add_subparsers(
        dest="action", metavar="COMMAND", title="commands", prog=parser.prog
    )
    listing = commands.add_parser(
        "list", help="list every key with its name, source and state"
    )
    add_flag(listing, "--json", "print one JSON document on stdout")
    _add_add_arguments(
        commands.add_parser(
            "add",
            help="add a key to keys.toml",
            description=(
                "Add a key to keys.toml. On a terminal it is asked for, otherwise it is"
                " read from standard input."
            ),
        )
    )
    removing = commands.add_parser(
        "remove", help="remove a key from keys.toml; your own lines there stay"
    )
    name: Any = removing.add_argument(
        "name", metavar="NAME", help="the name that agentos keys list shows"
    )
    checking = commands.add_parser(
        "check", help="send the provider of each key the cheapest request"
    )
    names: Any = checking.add_argument(
        "names", metavar="NAME", nargs="*", help="these keys (default: all)"
    )
    name.completer = names.completer = _complete_names
    parser.set_defaults(parser=parser)


def _add_add_arguments(parser: Parser) -> None:
    provider: Any = parser.add_argument(
        "provider", metavar="PROVIDER", help=", ".join(KEY_PROVIDERS)
    )
    provider.completer = lambda **_: KEY_PROVIDERS
    for name, (metavar, text) in _TEXT_FIELDS.items():
        parser.add_argument(flag_of(name), metavar=metavar, help=text)
    for name, text in _NUMBER_FIELDS.items():
        parser.add_argument(flag_of(name), metavar="N", type=_read_whole, help=text)
    for flag in KEY_FLAGS:
        parser.add_argument(flag, type=_refuse_key, nargs="?", help=argparse.SUPPRESS)


def run(arguments: Arguments) -> int:
    """Run one of the subcommands."""
    match arguments.action:
        case "list":
            return _list(arguments)
        case "add":
            return _add(arguments)
        case "remove":
            return _remove(arguments)
        case "check":
            return _check(arguments)
    arguments.parser.print_help()
    return 0


def _list(arguments: Arguments) -> int:
    keys, problems = _read_ring(arguments)
    states = _read_states(arguments, keys)
    if not arguments.json:
        _warn(problems)
    documents = [_to_json(key, states) for key in keys]
    lines = [
        "No keys. Add one with: agentos keys add PROVIDER, or set a variable such as"
        " GEMINI_API_KEY."
    ]
    if keys:
        lines = list(align([COLUMNS, *(_to_row(key, states) for key in keys)]))
    document = {"keys": documents, "problems": problems}
    arguments.print_result(document, lines)
    return 0


def _add(arguments: Arguments) -> int:
    fields = {"provider": arguments.provider}
    for name in (*_TEXT_FIELDS, *_NUMBER_FIELDS):
        value = getattr(arguments, name)
        if value is not None:
            fields[name] = value
    # Everything but the key is checked before the key is asked for.
    make_key({**fields, "key": "x"}, "add")
    if not find_record(arguments.provider).has_keys:
        raise UsageError(f"add: {arguments.provider} takes no key; use it without one")
    home = arguments.home
    home.check_private()
    read_document(home.root)
    secret = _read_secret(arguments.provider)
    if secret:
        fields["key"] = secret
    elif not is_optional_key(arguments.provider, arguments.base_url):
        raise UsageError("no key was given; type it, or send it to standard input")
    added = add_key(home.root, make_key(fields, "add"))
    print_clean(f"Added {added.fingerprint} ({added.source})\n")
    return 0


def _read_secret(provider: str) -> str:
    """Ask for the key on a terminal, or read it from standard input; return an empty
    text if there is none.
    """
    if sys.stdin is None:
        return ""
    if sys.stdin.isatty():
        return _ask_secret(f"Key for {provider} (it is not shown): ").strip()
    data = sys.stdin.buffer.read(2 * LONGEST_KEY)
    return data.decode("utf-8", "replace").strip()


def _ask_secret(prompt: str) -> str:
    import getpass
    import signal
    import warnings

    from agentos.run.signals import die_by

    # Ctrl+C must raise an exception here, or the terminal would stay without echo.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(prompt)
    except KeyboardInterrupt:
        die_by(signal.SIGINT)
        raise
    except EOFError:
        return ""
    except getpass.GetPassWarning:
        raise UsageError(
            "add: this terminal would show the key; send it to standard input instead"
        ) from None
    finally:
        signal.signal(signal.SIGINT, previous)


def _remove(arguments: Arguments) -> int:
    home, name = arguments.home, arguments.name
    home.check_private()
    if name not in _names(read_document(home.root).keys):
        environ = {**arguments.environ, "AGENTOS_CREDENTIAL_LIMIT": ""}
        _refuse_name(name, _read_all(environ, home.root).keys)
    left = remove_key(home.root, name)
    print_clean(f"Removed {name}\n")
    if left:
        _warn(
            [
                f"the same key is still in keys.toml ({left} more); run the command"
                " again to remove that too"
            ]
        )
    return 0


def _check(arguments: Arguments) -> int:
    import asyncio

    keys, problems = _read_ring(arguments)
    _warn(problems)
    if not keys:
        raise UsageError(
            "there are no keys to check; add one with: agentos keys add PROVIDER"
        )
    for name in arguments.names:
        if name not in _names(keys):
            _refuse_name(name, keys)
    if arguments.names:
        keys = [key for key in keys if key.fingerprint in arguments.names]
    return 0 if asyncio.run(_try_keys(arguments, keys)) else 1


async def _try_keys(arguments: Arguments, keys: Sequence[Key]) -> bool:
    """Print what came of each key; return whether all of them work."""
    from agentos.gateway.keys.check import try_keys
    from agentos.gateway.keys.pool import revive

    width = max(map(len, _names(keys)))
    are_ok = True
    async for finding in try_keys(keys):
        name = finding.key.fingerprint.ljust(width)
        sign = f" ({finding.sign})" if finding.sign else ""
        print_clean(f"{name}  {finding.outcome}{sign}: {finding.detail}\n")
        if finding.is_ok:
            revive(arguments.home.root, finding.key)
        else:
            are_ok = False
    return are_ok


def _read_ring(arguments: Arguments) -> tuple[Sequence[Key], Sequence[str]]:
    """Return all keys, and what is wrong with some."""
    arguments.home.check_private()
    ring = _read_all(arguments.environ, arguments.home.root)
    return ring.keys, ring.problems


def _read_all(environ: Mapping[str, str], home: Path) -> Keyring:
    """Read the keys of all providers, also of other packages."""
    others, problems = load_installed()
    ring = read_keys(environ, home, others=others)
    return Keyring(ring.keys, (*problems, *ring.problems))


def _read_states(arguments: Arguments, keys: Sequence[Key]) -> dict[str, str]:
    from agentos.gateway.keys.pool import describe_states
    from agentos.gateway.providers.classify import clean_words

    states = dict(describe_states(arguments.home.root, keys))
    for key in keys:
        states[key.fingerprint] = clean_words(states[key.fingerprint], key.secret)
    return states


def _to_row(key: Key, states: Mapping[str, str]) -> tuple[str, ...]:
    limits = []
    if key.requests_per_minute:
        limits.append(f"{key.requests_per_minute:,} requests/min")
    if key.tokens_per_minute:
        limits.append(f"{key.tokens_per_minute:,} tokens/min")
    return (
        key.provider,
        key.fingerprint,
        "own" if key.group == key.fingerprint else key.group,
        key.source,
        str(key.max_parallel),
        ", ".join(limits) or "learned",
        states[key.fingerprint],
    )


def _to_json(key: Key, states: Mapping[str, str]) -> dict[str, Any]:
    return {
        "provider": key.provider,
        "name": key.fingerprint,
        "group": key.group,
        "source": key.source,
        "max_parallel": key.max_parallel,
        "base_url": key.base_url or None,
        "requests_per_minute": key.requests_per_minute or None,
        "tokens_per_minute": key.tokens_per_minute or None,
        "state": states[key.fingerprint],
    }


def _names(keys: Iterable[Key]) -> list[str]:
    return [key.fingerprint for key in keys]


def _refuse_name(name: str, keys: Sequence[Key]) -> NoReturn:
    """Say why no key in keys.toml has this name; do not repeat it, as it may be a
    key.
    """
    for key in keys:
        if key.fingerprint == name:
            raise UsageError(
                f"{name}: comes from {key.source} in the environment; unset it there"
            )
    message = "no key has this name"
    raise UsageError(suggest(message, name, _names(keys), "see: agentos keys list"))


def _refuse_key(_: str) -> NoReturn:
    raise argparse.ArgumentTypeError(
        "not accepted: other users can read a command's arguments in the process list,"
        " and the shell saves them; leave it out and type the key when asked, or send"
        " it to standard input"
    )


def _read_whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise argparse.ArgumentTypeError("must be a whole number")
    return int(text)


def _complete_names(prefix: str, **_: Any) -> list[str]:
    arguments = Arguments()
    try:
        keys = _read_all(arguments.environ, arguments.home.root).keys
    except AgentOSError:
        return []
    return [name for name in _names(keys) if name.startswith(prefix)]


def _warn(problems: Iterable[str]) -> None:
    for problem in problems:
        print_clean(f"agentos keys: warning: {problem}\n", sys.stderr)

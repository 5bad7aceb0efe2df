"""The `agentos keys` command: see, add, remove and try keys without ever showing one."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from agentos.cli.parser import Parser
from agentos.cli.secret_input import read_secret
from agentos.errors import AgentOSError, UsageError
from agentos.home import Home, home_path
from agentos.keys import Key
from agentos.keys.entries import KEY_PROVIDERS, KEYLESS_PROVIDER, make_key
from agentos.keys.file import add_key, read_document, remove_key
from agentos.keys.sources import Keyring, read_keys
from agentos.untrusted import print_clean

COMMANDS = ("list", "add", "remove", "check")
KEY_FLAGS = ("--key", "--api-key", "--secret", "--token")
COLUMNS = ("PROVIDER", "NAME", "GROUP", "SOURCE", "PARALLEL", "LIMITS", "STATE")
DESCRIPTION = """\
See, add, remove and try the API keys that calls are made with. A key is never shown: it is known by a name.

examples:
  agentos keys add gemini                   asks for the key, without showing what is typed
  agentos keys add openai < key.txt         reads it from standard input
  agentos keys add openai --base-url http://127.0.0.1:11434/v1 < /dev/null   a server that asks for no key
  agentos keys list                         every key, where it comes from and how it stands
  agentos keys check                        asks each provider the cheapest question
  agentos keys remove gemini-3fa1c27b       takes it out of keys.toml
"""
EPILOG = """\
exit codes:
  0    done; for check: every key is fine
  1    check found a key that is refused, or a provider that cannot be reached
  2    the command, keys.toml or a key in the environment cannot be used, or there is no key to check

files:
  $AGENTOS_HOME/keys.toml   [[key]] tables; only you may read it (default home: ~/.agentos)

environment, read before keys.toml:
  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY   one key; also with _1, _2, ... for more
  GEMINI_API_KEYS, ANTHROPIC_API_KEYS, OPENAI_API_KEYS   several, with commas between them
  GOOGLE_API_KEY                                      for gemini, when none of its own is set
  GOOGLE_GEMINI_BASE_URL, ANTHROPIC_BASE_URL, OPENAI_BASE_URL   another address for the keys of the environment
  AGENTOS_CREDENTIAL_LIMIT=N                          use the first N keys only
"""


class KeysParser(Parser):
    """A parser that repeats no argument, as it may be a key."""

    def _explain(self, unknown: str) -> str:
        if not unknown.startswith("-"):
            return "there is an argument too many; a key is asked for or read from standard input, never an argument"
        close = difflib.get_close_matches(unknown.partition("=")[0], _OPTIONS, n=1)
        return f"unknown option; did you mean {close[0]}?" if close else "unknown option"


_FIELDS: Mapping[str, tuple[str, str]] = {
    "--group": ("G", "quota group: the keys of one project or organisation share its limits (default: its own)"),
    "--max-parallel": ("N", "calls under way with this key at once (default: 8)"),
    "--base-url": ("URL", "ask this address instead of the provider's own"),
    "--requests-per-minute": ("N", "limit of the group (default: it is learned)"),
    "--tokens-per-minute": ("N", "limit of the group (default: it is learned)"),
}
_WHOLE = ("--max-parallel", "--requests-per-minute", "--tokens-per-minute")
_OPTIONS = (*_FIELDS, "--json", "--help")


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands about keys."""
    _refuse_shown_key(arguments)
    parser = KeysParser(
        prog="agentos keys", usage="agentos keys COMMAND [options]", description=DESCRIPTION, epilog=EPILOG
    )
    add_commands(parser)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        parser.error(f"there is no such command; use one of {', '.join(COMMANDS)}")
    args = parser.parse(arguments)
    home = home_path(os.environ)
    match args.keys_command:
        case "list":
            return list_keys(home, args.json)
        case "add":
            return add(home, args)
        case "remove":
            return remove(home, args.name)
        case "check":
            return check(home, args.names)
    parser.print_help()
    return 0


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands about keys to a parser."""
    commands = parser.add_subparsers(dest="keys_command", metavar="COMMAND", title="commands")
    listing = commands.add_parser("list", help="show every key by its name, where it comes from and how it stands")
    listing.add_argument("--json", action="store_true", help="as one JSON document")
    adding = commands.add_parser(
        "add",
        help="put a key into keys.toml",
        description="Put a key into keys.toml. It is asked for on a terminal, and read from standard input otherwise.",
    )
    provider: Any = adding.add_argument("provider", metavar="PROVIDER", help=", ".join(KEY_PROVIDERS))
    provider.completer = lambda **_: KEY_PROVIDERS
    for flag, (metavar, text) in _FIELDS.items():
        adding.add_argument(flag, metavar=metavar, type=_read_whole if flag in _WHOLE else str, help=text)
    removing = commands.add_parser("remove", help="take a key out of keys.toml; your own lines there stay")
    name: Any = removing.add_argument("name", metavar="NAME", help="as agentos keys list shows it")
    checking = commands.add_parser("check", help="ask each key's provider the cheapest question")
    names: Any = checking.add_argument("names", metavar="NAME", nargs="*", help="these keys (default: all)")
    name.completer = names.completer = _complete_names


def list_keys(home: Path, as_json: bool) -> int:
    """Print every key by its name."""
    ring = _read_ring(home)
    states = _read_states(home, ring.keys)
    if as_json:
        document = {"schema": 1, "keys": [_to_json(key, states) for key in ring.keys], "problems": ring.problems}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return 0
    _warn(ring.problems)
    if not ring.keys:
        print_clean("No keys. Add one with: agentos keys add PROVIDER, or set GEMINI_API_KEY or one of its kind.\n")
        return 0
    rows = [COLUMNS, *(_to_row(key, states) for key in ring.keys)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    print_clean("\n".join(lines) + "\n")
    return 0


def add(home: Path, args: argparse.Namespace) -> int:
    """Put a key into the key file."""
    given = {flag[2:].replace("-", "_"): getattr(args, flag[2:].replace("-", "_")) for flag in _FIELDS}
    fields = {"provider": args.provider} | {name: value for name, value in given.items() if value is not None}
    # Everything but the key is checked before somebody is asked for it.
    make_key({**fields, "key": "x"}, "keys add")
    Home(home).check_private()
    read_document(home)
    if secret := read_secret(args.provider):
        fields["key"] = secret
    elif not (args.provider == KEYLESS_PROVIDER and args.base_url):
        raise UsageError("keys add: no key was given; type it, or send it to standard input")
    added = add_key(home, make_key(fields, "keys add"))
    print_clean(f"Added {added.fingerprint} ({added.source})\n")
    return 0


def remove(home: Path, name: str) -> int:
    """Take a key out of the key file."""
    Home(home).check_private()
    if name not in (key.fingerprint for key in read_document(home).keys):
        _explain_absent(name, read_keys({**os.environ, "AGENTOS_CREDENTIAL_LIMIT": ""}, home).keys)
    left = remove_key(home, name)
    print_clean(f"Removed {name}\n")
    if left:
        _warn([f"the same key is still in keys.toml ({left} more); run the command again to remove that too"])
    return 0


def check(home: Path, names: Sequence[str]) -> int:
    """Try the keys and say what came of each."""
    import asyncio

    ring = _read_ring(home)
    _warn(ring.problems)
    if not ring.keys:
        raise UsageError("there are no keys to check; add one with: agentos keys add PROVIDER")
    for name in names:
        if name not in (key.fingerprint for key in ring.keys):
            _explain_absent(name, ring.keys)
    chosen = [key for key in ring.keys if not names or key.fingerprint in names]
    return 0 if asyncio.run(_check(home, chosen)) else 1


async def _check(home: Path, keys: Sequence[Key]) -> bool:
    from agentos.keys.pool import revive
    from agentos.keys.trial import try_keys

    width = max(len(key.fingerprint) for key in keys)
    is_all_ok = True
    async for finding in try_keys(keys):
        sign = f" ({finding.sign})" if finding.sign else ""
        print_clean(f"{finding.key.fingerprint.ljust(width)}  {finding.outcome}{sign}: {finding.detail}\n")
        is_all_ok = is_all_ok and finding.is_ok
        if finding.is_ok:
            revive(home, finding.key)
    return is_all_ok


def _read_ring(home: Path) -> Keyring:
    Home(home).check_private()
    return read_keys(os.environ, home)


def _read_states(home: Path, keys: Sequence[Key]) -> Mapping[str, str]:
    from agentos.keys.pool import describe_states
    from agentos.providers.classify import clean_words

    states = describe_states(home, keys)
    return {key.fingerprint: clean_words(states[key.fingerprint], key.secret) for key in keys}


def _to_row(key: Key, states: Mapping[str, str]) -> tuple[str, ...]:
    limits = [
        f"{limit:,} {unit}/min"
        for limit, unit in ((key.requests_per_minute, "requests"), (key.tokens_per_minute, "tokens"))
        if limit
    ]
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


def _refuse_shown_key(arguments: Iterable[str]) -> None:
    for argument in arguments:
        flag = argument.partition("=")[0]
        if flag in KEY_FLAGS:
            raise UsageError(
                f"keys: {flag} is not taken: other users can read a command's arguments in the list of processes, and "
                "the shell keeps them; leave it out and type the key when asked, or send it to standard input"
            )


def _explain_absent(name: str, keys: Sequence[Key]) -> NoReturn:
    """Raise what is to be said of a name that is not among the keys; a name that is no name is not repeated."""
    for key in keys:
        if key.fingerprint == name:
            raise UsageError(f"{name}: comes from {key.source} in the environment; unset it there")
    close = difflib.get_close_matches(name[:100], [key.fingerprint for key in keys], n=1)
    raise UsageError(f"no key has this name; {f'did you mean {close[0]}?' if close else 'see: agentos keys list'}")


def _read_whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise argparse.ArgumentTypeError("must be a whole number")
    return int(text)


def _complete_names(prefix: str, **_: Any) -> list[str]:
    try:
        keys = read_keys(os.environ, home_path(os.environ)).keys
    except AgentOSError:
        return []
    return [key.fingerprint for key in keys if key.fingerprint.startswith(prefix)]


def _warn(problems: Iterable[str]) -> None:
    for problem in problems:
        print_clean(f"agentos: warning: {problem}\n", sys.stderr)

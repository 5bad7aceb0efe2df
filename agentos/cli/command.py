"""What every command uses: the parser, the parsed arguments, the lock of an item."""

from __future__ import annotations

import argparse
import difflib
import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from agentos import __version__
from agentos.errors import BadInput, ItemError, UsageError
from agentos.item import Item
from agentos.kinds import BUILT_IN_KINDS, Kind, installed_kinds
from agentos.settings import Value, resolve
from agentos.state.home import Home, home_path, repository_key
from agentos.state.redaction import redact_json
from agentos.state.terminal_text import print_clean
from agentos.state.variables import environment

if TYPE_CHECKING:
    from agentos.gateway.access import ModelAccess
    from agentos.run.console import Console

TRY_LATER = 75
"""Exit code of a command that the same command can finish later."""
FLUSH_SECONDS = 86_400.0
"""How long a finished command waits for a pager to read its output."""
FLUSH_SECONDS_AFTER_SIGNAL = 0.3
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

EPILOG = """\
exit codes:
  0    everything succeeded, or there was nothing to do, or it was a dry run
  1    at least one item failed
  2    the command or its settings cannot be used; nothing was run
  3    an internal error of AgentOS
  75   work is left: keys exhausted, budget exhausted, or items that wait for others
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM

files:
  $AGENTOS_HOME/checkpoints/   one database per unfinished item (default home: ~/.agentos)
  $AGENTOS_HOME/logs/parallel/ one folder per run: logs, audit trails, summary.json
  $AGENTOS_HOME/keys.toml      API keys, mode 0600; see: agentos keys --help
  $AGENTOS_HOME/journal.db     every model call and its answer, until the item has ended
  docs/briefs, docs/issues, docs/lld/active, docs/lineage   inside the repository

environment:
  AGENTOS_HOME            folder for state and logs
  AGENTOS_PARALLEL, AGENTOS_DRAFTER, ...   any setting; see: agentos config
  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY   one key; more with _1, _2, ... or comma-separated in ..._API_KEYS
  GITHUB_TOKEN, GH_TOKEN  token for --source and --file (default: the token of `gh auth token`)
  GITHUB_API_URL          address of a GitHub Enterprise server, such as https://HOST/api/v3
  GOOGLE_GEMINI_BASE_URL, ANTHROPIC_BASE_URL, OPENAI_BASE_URL   another address for a provider, such as a local server
  AGENTOS_CREDENTIAL_LIMIT=N   use only the first N keys
  AGENTOS_SIMULATE_429=true    simulate rate limits
  NO_COLOR, FORCE_COLOR   turn colors off or on

Ctrl+C stops within 5 seconds: every worker saves its checkpoint, finished items are reported, and the same command
continues later. A second Ctrl+C stops at once.
"""


class Arguments(argparse.Namespace):
    """The parsed arguments of a command, with its environment, home and repository."""

    environ: Mapping[str, str] = environment()
    """The environment of the process; no other module of `cli` reads it."""
    prog: str
    argv: Sequence[str]
    passed_on: Sequence[str] = ()
    """What follows `--`, for the command that this one runs."""

    @cached_property
    def home(self) -> Home:
        """The state folder."""
        return Home(home_path(self.environ))

    @cached_property
    def repository(self) -> Path:
        """The repository that `--repo` names, or that of the working directory."""
        repository = find_repository(self.repo)
        if not repository.is_dir():
            raise UsageError(
                f"{repository}: no such folder; give the repository with --repo DIR"
            )
        return repository

    @property
    def repository_key(self) -> str:
        """The name of the repository in the state folder."""
        return repository_key(self.repository)

    def resolve(self, flags: Mapping[str, Any]) -> dict[str, Value]:
        """Return every setting's value and origin."""
        return resolve(flags, self.environ, self.repository, self.home.config)

    def find_access(
        self,
        models: Sequence[str],
        price: Sequence[str],
        price_at_least: Sequence[str],
        base_url: Sequence[str],
    ) -> ModelAccess:
        """Return the keys and prices of models, or raise `UsageError` if one is
        missing.
        """
        from agentos.gateway.access import GivenPrices, gather_access

        prices = GivenPrices.read(price, price_at_least)
        addresses = dict(text.split("=", 1) for text in base_url)
        return gather_access(models, self.environ, self.home.root, prices, addresses)

    def print_result(self, document: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Print the document if `--json` is given, else the lines."""
        if self.json:
            text = json.dumps({"schema": 1, **document}, indent=2)
            sys.stdout.write(redact_json(text) + "\n")
        else:
            print_clean("".join(f"{line}\n" for line in lines))

    @contextmanager
    def lock(self, item: Item) -> Iterator[None]:
        """Lock an item, so that no run changes it meanwhile."""
        from agentos.state import locks

        paths = self.home.item(self.repository_key, item)
        try:
            lock = locks.acquire(paths.lock, self.prog)
        except OSError as error:
            raise UsageError(
                f"{item.label}: cannot be locked ({error.strerror})"
            ) from error
        if isinstance(lock, locks.Holder):
            raise UsageError(
                f"{item.label} is being run by pid {lock.pid} ({lock.command}); try"
                " again when it has ended"
            )
        try:
            yield
        finally:
            lock.release()


class Parser(argparse.ArgumentParser):
    """A parser that accepts no abbreviations and suggests the nearest option."""

    def __init__(self, *, command: str = "", **options: Any) -> None:
        """Create the parser of `command`, a name in the table of commands."""
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )
        version = f"agentos {__version__}"
        self.add_argument("--version", action="version", version=version)
        self.command = command
        self.hides_arguments = False
        """Whether errors never quote an argument, because it may be a key."""
        self.passes_on = False
        """Whether what follows `--` is for another command."""

    def describe(self, usage: str, description: str, epilog: str) -> None:
        """Set the texts of `--help`."""
        self.usage, self.description, self.epilog = usage, description, epilog

    def add_common_arguments(self) -> None:
        """Add `--repo DIR` and `--json`."""
        self.add_argument(
            "--repo",
            type=Path,
            default=None,
            metavar="DIR",
            help="the repository (default: that of the working directory)",
        )
        text = "print one JSON document on stdout; messages go to stderr"
        add_flag(self, "--json", text)

    def parse(self, argv: Sequence[str]) -> Arguments:
        """Parse the arguments; suggest the nearest option for an unknown one."""
        own = list(argv)
        passed_on: list[str] = []
        if self.passes_on and "--" in own:
            end = own.index("--")
            passed_on = own[end + 1 :]
            del own[end:]
        arguments, unknown = self.parse_known_args(own, Arguments())
        arguments.passed_on = passed_on
        if unknown:
            self.error(self._explain(unknown[0]))
        arguments.prog = self.prog
        arguments.argv = argv
        return arguments

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        print_clean(f"{self.prog}: {message}\nSee {self.prog} --help\n", sys.stderr)
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # The library's own method ignores a full disk.
        (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # The library's message quotes the value, which may be a key.
        if isinstance(action, argparse._SubParsersAction):
            commands = action.choices
            if value not in commands:
                known = f"use one of {', '.join(commands)}"
                self.error(suggest("no such command", value, commands, known))
        super()._check_value(action, value)

    def _explain(self, unknown: str) -> str:
        if not unknown.startswith("-"):
            if self.hides_arguments:
                return (
                    "too many arguments; a key is typed when asked or read from"
                    " standard input, never given as an argument"
                )
            message = f"unexpected argument {unknown!r}"
            known = set(self._options())
            ways = [way for way in ("--ids", "--issue") if way in known]
            if ways:
                message += f"; name items with {' or '.join(ways)}"
            return message
        message = "unknown option"
        if not self.hides_arguments:
            message += f" {unknown}"
        return suggest(message, unknown.partition("=")[0], self._options())

    def _options(self) -> Iterator[str]:
        """Return the options of this parser and of its subcommands."""
        yield from self._option_string_actions
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser._option_string_actions


def add_flag(parser: argparse._ActionsContainer, flag: str, text: str) -> None:
    """Add an option without a value."""
    parser.add_argument(flag, action="store_true", help=text)


def suggest(message: str, name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a message that ends with the nearest known name, if there is one."""
    close = difflib.get_close_matches(name[:100], list(known), n=1)
    if close:
        otherwise = f"did you mean {close[0]}?"
    return f"{message}; {otherwise}" if otherwise else message


def align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def flag_of(name: str) -> str:
    """Return the flag of a setting: `--max-cost` of `max_cost`."""
    return f"--{name.replace('_', '-')}"


def split_ids(texts: Iterable[str] | None, kind: Kind) -> tuple[str, ...]:
    """Return the ids of `--ids`, separated by blanks or commas, each once."""
    from agentos.backlog.selection import normalize_id

    ids: dict[str, None] = {}
    for text in texts or ():
        for part in text.split(","):
            if part:
                ids[normalize_id(part, kind)] = None
    return tuple(ids)


def find_repository(named: Path | None) -> Path:
    """Return the named repository, or the one of the working directory; check its git
    files and folders.
    """
    from agentos.repository.files import check_folders, check_git_files

    try:
        repository = named.absolute() if named else _find_top(Path.cwd())
    except FileNotFoundError:
        raise UsageError(
            "the working directory no longer exists; change to one that does, or give"
            " --repo DIR"
        ) from None
    try:
        check_git_files(repository)
        check_folders(repository)
    except BadInput as error:
        raise UsageError(str(error)) from None
    return repository


def _find_top(folder: Path) -> Path:
    """Return the top of the repository that contains a folder, or the folder itself if
    it has a backlog of its own.
    """
    inputs = [kind.record.inputs for kind in BUILT_IN_KINDS]
    # The folder docs/lld stays when its last design has moved out of docs/lld/active.
    if _has_any(folder, (".git", ".agentos", "docs/lld", *inputs)):
        return folder
    for above in folder.parents:
        if (above / ".git").exists():
            # Only here it matters which other kinds are installed.
            others = [kind.record.inputs for kind in installed_kinds()]
            return folder if _has_any(folder, others) else above
    return folder


def _has_any(folder: Path, names: Iterable[str]) -> bool:
    return any((folder / name).exists() for name in names)


@contextmanager
def usage_errors(repository: Path) -> Iterator[None]:
    """Report an item or a file that cannot be used as a usage error."""
    try:
        yield
    except ItemError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(
            f"{error.filename or repository}: {error.strerror or error}"
        ) from error


@contextmanager
def complete_output(prog: str) -> Iterator[None]:
    """Exit with status 1 and one line if the output cannot be written, as on a full
    disk.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        # An error of another file has that file's name.
        if error.filename is not None or error.errno not in _FULL_DISK:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        report_lost_output(prog, os.strerror(error.errno))
        raise SystemExit(1) from None


def run_on_console(
    console: Console, prog: str, work: Callable[[], tuple[int, int | None]]
) -> int:
    """Run a function that returns an exit code, or the signal that ended it, and close
    the console after it.
    """
    import signal

    from agentos.run.signals import die_by

    try:
        console.start()
        code, ending = work()
        if ending is None:
            console.close(timeout=FLUSH_SECONDS)
    finally:
        console.close(timeout=FLUSH_SECONDS_AFTER_SIGNAL)
    if console.stdout_closed.is_set():
        return die_by(signal.SIGPIPE)
    if ending is not None:
        return die_by(ending)
    if console.lost_output:
        report_lost_output(prog, console.lost_output)
        return code or 1
    return code


def report_lost_output(prog: str, why: str) -> None:
    """Report that not all of the output was written."""
    print_clean(
        f"{prog}: the output cannot be written ({why}); free some space there and run"
        " again\n",
        sys.stderr,
    )

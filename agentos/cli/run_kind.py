"""`agentos run`: run any kind of work by its name, as those of installed packages."""

from __future__ import annotations

import argparse

from agentos.cli import workflow
from agentos.cli.command import EPILOG, Arguments, Parser
from agentos.errors import UsageError
from agentos.kinds import Kind, installed_kinds

DESCRIPTION = """\
Run a kind of work by its name. A package adds a kind by the entry point group agentos.workflows.

examples:
  agentos run adr --all --parallel 3  every pending item of the kind adr
  agentos run adr --help              all options
"""


def add_arguments(parser: Parser) -> None:
    """Add the kind; what follows it is read by the kind's own parser."""
    parser.describe(
        "agentos run KIND (--all | --ids ID... | --issue ID) [options]",
        DESCRIPTION,
        EPILOG,
    )
    named = parser.add_argument(
        "kind",
        nargs="?",
        metavar="KIND",
        help="the name of the kind; agentos run alone lists them",
    )
    named.completer = _complete_kinds  # type: ignore[attr-defined]
    parser.add_argument(
        "options",
        nargs=argparse.REMAINDER,
        metavar="...",
        help="which items, and how to run them",
    )


def run(arguments: Arguments) -> int:
    """Run the items of the named kind."""
    if arguments.kind is None:
        known = ", ".join(installed_kinds())
        raise UsageError(f"name a kind: {known}; see agentos run --help")
    kind = Kind(arguments.kind)
    record = kind.record
    parser = Parser(prog=f"agentos run {kind}")
    parser.description = f"Turn {record.inputs} into {record.document}."
    workflow.add_kind_arguments(parser, kind)
    return workflow.run(parser.parse(arguments.options))


def _complete_kinds(**_: object) -> list[str]:
    return list(installed_kinds())

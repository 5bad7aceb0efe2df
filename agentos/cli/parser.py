"""A parser that guesses what was meant by an unknown flag, and the words all commands share."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from agentos.untrusted import print_clean

EPILOG = """\
exit codes:
  0    everything succeeded, or there was nothing to do, or a dry run
  1    at least one workflow failed
  2    the command or its settings cannot be used; nothing was run
  3    an error inside AgentOS
  75   work is left (keys exhausted, budget reached, items that wait for others)
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM

files:
  $AGENTOS_HOME/checkpoints/   one database for each unfinished workflow (default home: ~/.agentos)
  $AGENTOS_HOME/logs/parallel/ one folder for each run: logs, audit trails, summary.json
  $AGENTOS_HOME/keys.toml      API keys, mode 0600, see: agentos keys --help
  $AGENTOS_HOME/journal.db     every answer that was paid for, until its item has ended
  docs/briefs, docs/issues, docs/lld/active, docs/lineage   inside the repository

environment:
  AGENTOS_HOME            where state and logs are
  AGENTOS_PARALLEL, AGENTOS_DRAFTER, ...   any setting, see: agentos config
  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY   keys, also with _1, _2, ... or as ..._API_KEYS with commas
  GITHUB_TOKEN, GH_TOKEN  token for --source and --file; else that of: gh auth token
  GITHUB_API_URL          another GitHub, such as https://HOST/api/v3
  GOOGLE_GEMINI_BASE_URL, ANTHROPIC_BASE_URL, OPENAI_BASE_URL   another address, such as that of a local server
  AGENTOS_CREDENTIAL_LIMIT=N, AGENTOS_SIMULATE_429=true   rehearse a shortage of keys
  NO_COLOR, FORCE_COLOR   colours

Ctrl+C stops within 5 seconds: every worker saves its checkpoint, what has ended is reported, and the same command
goes on later. A second Ctrl+C stops at once.
"""


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviations, with suggestions."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse, naming the nearest flag for one that does not exist."""
        known, unknown = self.parse_known_args(arguments)
        if unknown:
            self.error(self._explain(unknown[0]))
        return known

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help; unlike the one of the library, this hides no error."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Print one clear line and leave with status 2."""
        print_clean(f"{self.prog}: {message}\nSee {self.prog} --help\n", sys.stderr)
        raise SystemExit(2)

    def _explain(self, unknown: str) -> str:
        if not unknown.startswith("-"):
            return f"unexpected argument {unknown!r}: items are named with --ids or --issue"
        close = difflib.get_close_matches(unknown.partition("=")[0], self._option_string_actions, n=1)
        return f"unknown option {unknown}" + (f"; did you mean {close[0]}?" if close else "")

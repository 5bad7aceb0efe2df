"""`agentos pr --revise`: build on an item with what reviewers said about its pull
request.
"""

from __future__ import annotations

import sys

from agentos.cli.command import Arguments, usage_errors
from agentos.cli.pr import connect
from agentos.cli.workflow import NOTE_LIMIT
from agentos.errors import UsageError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.forge import ForgeRepository, Pull
from agentos.repository.forge.pulls.requests import find_pulls
from agentos.repository.forge.pulls.reviewing import Remarks, find_remarks
from agentos.repository.forge.pulls.work import find_proposed
from agentos.state.terminal_text import print_clean
from agentos.state.wording import count


def revise(arguments: Arguments, id: str) -> int:
    """Run the item again with the comments that are newer than its last commit."""
    options = _read_options(arguments, id)
    label = Item(Kind.IMPLEMENTATION, id, "").label
    with usage_errors(arguments.repository):
        branch, since = find_proposed(arguments.repository, id)
        forge, _ = connect(arguments)
        # A renamed repository is asked under its present name.
        forge.describe()
        pulls = find_pulls(forge, branch)
        if not pulls or pulls[0].state != "open":
            raise UsageError(
                f"{label}: {branch} has no open pull request on {forge.repository};"
                f" open one with: agentos pr {id} --push"
            )
        pull = pulls[0]
        remarks = find_remarks(
            forge.list_pull_comments(pull.number),
            since,
            any_author=arguments.any_author,
        )
    said = _describe(remarks, pull, forge.repository)
    if not remarks.taken:
        _report(arguments, [f"{label}: {said}; there is nothing to revise"], pull, "")
        return 0
    note, missing = remarks.as_note(NOTE_LIMIT)
    if missing:
        said += f"; {count(missing, 'older comment')} did not fit and"
        said += " are left out" if missing > 1 else " is left out"
    if arguments.dry_run:
        _report(arguments, [f"{label}: {said}", "", *note.split("\n")], pull, note)
        return 0
    print_clean(f"{label}: {said}\n", sys.stderr)
    # Not on the command line, which logs and locks show.
    options.note = [note]
    code = int(options.run(options))
    if code == 0 and not arguments.json:
        print_clean(
            f"Look at {branch}, then update {forge.repository.refer(pull.number)}"
            f" with: agentos pr {id} --push\n"
        )
    return code


def _read_options(arguments: Arguments, id: str) -> Arguments:
    """Return the arguments of the `implement-workflow` that builds on the item."""
    from agentos.cli.main import build_parser

    command = ["--ids", id]
    if arguments.repo is not None:
        command += ["--repo", str(arguments.repo)]
    if arguments.json:
        command.append("--json")
    command += arguments.passed_on
    given = build_parser("implement", "implement-workflow").parse(command)
    if given.note:
        raise UsageError("--note and --revise exclude each other; comment instead")
    return given


def _describe(remarks: Remarks, pull: Pull, repository: ForgeRepository) -> str:
    """Say what was said since the commit."""
    number = len(remarks.taken)
    new = count(number, "new comment") if number else "no new comments"
    text = f"{new} on {repository.refer(pull.number)}"
    if remarks.left_out:
        others = count(remarks.left_out, "comment")
        text += (
            f" ({others} of people who are not owners, members or collaborators left"
            " out; --any-author takes them too)"
        )
    return text


def _report(arguments: Arguments, lines: list[str], pull: Pull, note: str) -> None:
    document = {
        "did": "nothing",
        "number": pull.number,
        "url": pull.url,
        "note": note,
    }
    arguments.print_result(document, lines)

"""`agentos pr`: open a pull request for an implemented item, with its reports as the
body.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentos.backlog.selection import normalize_id
from agentos.cli.command import (
    Arguments,
    Parser,
    add_flag,
    usage_errors,
)
from agentos.errors import UsageError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.forge import Forge, Proposal, Pull, Unavailable, open_forge
from agentos.repository.forge.pulls.body import write_body, write_title
from agentos.repository.forge.pulls.work import (
    Work,
    check_reports,
    find_work,
    say_closes,
)
from agentos.repository.git.repository import GitRepository, find_repository
from agentos.state.terminal_text import print_clean

if TYPE_CHECKING:
    from agentos.repository.forge.pulls.pushing import Remote

MAX_LOOKS = 5
"""How often the forge is asked for a branch that was just pushed."""
DESCRIPTION = """\
Open a draft pull request for an implemented item, with its implementation report and test report as the body. The
item's branch must be on GitHub: without --push nothing is pushed, and the command that pushes it is printed. Running
it again finds the open pull request and does not open another. If the branch conflicts with the one to merge into, and
only because both add entries to a change log, --push also pushes a merge that has the entries of both.

examples:
  agentos pr 42             open a draft from agentos/42-... into the repository's default branch
  agentos pr 42 --push      push exactly that branch first, never by force
  agentos pr 42 --dry-run   show title and body, and what would be done
  agentos pr 42 --revise    have the item built on with what reviewers said about its pull request
  agentos pr 42 --revise -- --coder anthropic:claude-sonnet-5   with options of implement-workflow
"""
EPILOG = """\
exit codes:
  0    the pull request is open or merged, or it was a dry run; with --revise: nothing new was said, or it is revised
  1    with --revise: the item could not be revised
  2    it cannot be opened: not implemented, not on GitHub, or GitHub refuses it
  3    an internal error of AgentOS
  75   GitHub is unavailable for now; run the command again later
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM

environment:
  AGENTOS_HOME            folder for state and logs
  GITHUB_TOKEN, GH_TOKEN  token with write access (default: the token of `gh auth token`)
  GITHUB_API_URL          address of a GitHub Enterprise server, such as https://HOST/api/v3
"""


def add_arguments(parser: Parser) -> None:
    """Add the item and the options."""
    parser.describe("agentos pr ITEM [options] [-- OPTIONS]", DESCRIPTION, EPILOG)
    parser.add_argument("item", metavar="ITEM", help="an id such as 42, or IMPL-42")
    parser.add_argument(
        "--base",
        metavar="BRANCH",
        help="the branch to merge into (default: the default branch on GitHub)",
    )
    add_flag(parser, "--ready", "open it ready for review, not as a draft")
    add_flag(parser, "--push", "push the item's branch first, and nothing else")
    parser.add_argument(
        "--remote",
        default="origin",
        metavar="NAME",
        help="the git remote of the GitHub repository (default: origin)",
    )
    add_flag(parser, "--dry-run", "show what would be done; change nothing")
    add_flag(
        parser,
        "--revise",
        "run the item again with the new comments of trusted people as a note",
    )
    add_flag(parser, "--any-author", "with --revise: take comments of all people")
    parser.passes_on = True
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Open the pull request, or report the one that exists."""
    arguments.home.check_private()
    item = normalize_id(arguments.item, Kind.IMPLEMENTATION)
    _check_options(arguments)
    if arguments.revise:
        from agentos.cli.revise import revise

        return revise(arguments, item)
    with usage_errors(arguments.repository):
        work = find_work(arguments.home, arguments.repository, item)
        if arguments.dry_run:
            return _open(arguments, work)
        with arguments.lock(Item(Kind.IMPLEMENTATION, item, "")):
            return _open(arguments, work)


def _check_options(arguments: Arguments) -> None:
    if arguments.passed_on and not arguments.revise:
        raise UsageError("--: options of implement-workflow need --revise")
    if arguments.any_author and not arguments.revise:
        raise UsageError("--any-author: needs --revise")
    if arguments.revise and arguments.push:
        raise UsageError(
            "--revise and --push exclude each other; look at the revision, then run"
            " again with --push"
        )


@dataclass(frozen=True, slots=True)
class PullSession:
    """An implemented item, and the repository on the forge where it is proposed."""

    arguments: Arguments
    work: Work
    forge: Forge
    remote: Remote
    base: str
    """The branch to merge into."""

    @property
    def clone(self) -> GitRepository:
        """The repository here."""
        return find_repository(self.arguments.repository)

    def has_work(self, commit: str) -> bool:
        """Tell whether a commit on the forge is known to have the item's work."""
        from agentos.repository.forge.pulls.joining import contains

        return bool(commit) and contains(self.clone.git(), commit, self.work.commit)

    def describe_unpushed(self, there: str) -> str:
        """Say that the forge does not have the commit, and how to push it."""
        work, target = self.work, self.remote.repository
        command = ["git"]
        if self.arguments.repo is not None:
            command += ["-C", str(self.arguments.repo)]
        command += ["push", self.remote.name, work.branch]
        state = f"is not on {target}"
        if there:
            state = f"is at {there[:12]} on {target} and at {work.commit[:12]} here"
        push = shlex.join(command)
        return f"{work.branch} {state}; push it with: {push} (or add --push)"

    def propose(self) -> Proposal:
        """Return the pull request to open."""
        work = self.work
        label = Item(Kind.LLD, work.item.id, "").label
        closes = say_closes(work.issue, self.remote.repository)
        origin = f"`{work.where}` where it was built"
        limits = self.forge.limits
        return Proposal(
            branch=work.branch,
            base=self.base,
            title=write_title(work.title, label, limits.title),
            body=write_body(
                closes, work.reports, origin, self.forge.label, limits.body
            ),
            is_draft=not self.arguments.ready,
        )

    def print_result(self, lines: Iterable[str], **facts: Any) -> None:
        """Print facts about the pull request as JSON, or the lines."""
        document = {
            "label": self.work.item.label,
            "repository": str(self.remote.repository),
            "branch": self.work.branch,
            "commit": self.work.commit,
            **facts,
        }
        self.arguments.print_result(document, lines)


def _open(arguments: Arguments, work: Work) -> int:
    from agentos.repository.forge.pulls.pushing import clear_leftover
    from agentos.repository.forge.pulls.requests import find_pulls, open_pull

    forge, remote = connect(arguments)
    session = _describe(arguments, work, forge, remote)
    forge, target = session.forge, session.remote.repository
    there = forge.find_commit(work.branch)
    pulls = find_pulls(forge, work.branch)
    opened = [pull for pull in pulls if pull.state == "open"]
    ended = [pull for pull in pulls if pull.state != "open"]
    if not opened:
        # A merged branch may be gone from GitHub, and is not pushed again.
        for pull in ended:
            if session.has_work(pull.commit):
                return _report_ended(session, pull)
    # Only now is the token known that reports must not contain.
    check_reports(work)
    if arguments.dry_run:
        return _show(session, there, opened)
    clear_leftover(session.clone, work.branch)
    joined = _join_entries(session, there)
    if arguments.push:
        there = _push(session, there, joined.commit)
    if not opened and not session.has_work(there):
        raise UsageError(session.describe_unpushed(there))
    pull, is_new = open_pull(forge, session.propose())
    remarks = _remarks(session, pull, there, is_new=is_new)
    if joined.remark:
        remarks.append(joined.remark)
    for other in ended:
        remarks.append(f"before it {target.refer(other.number)} was {other.state}")
    _report(session, pull, "opened" if is_new else "open", remarks)
    return 0


def connect(arguments: Arguments) -> tuple[Forge, Remote]:
    """Find the repository on its forge, with a token."""
    from agentos.repository.forge.pulls.pushing import find_remote

    environ = arguments.environ
    found = find_repository(arguments.repository)
    remote = find_remote(found, arguments.remote, environ)

    def say(text: str) -> None:
        print_clean(f"{text}\n", sys.stderr)

    forge = open_forge(remote.repository, environ, say)
    if forge.token_advice:
        raise UsageError(f"a pull request needs a token; {forge.token_advice}")
    return forge, remote


def _describe(
    arguments: Arguments, work: Work, forge: Forge, remote: Remote
) -> PullSession:
    from agentos.repository.forge.pulls.pushing import Remote

    facts = forge.describe()
    target = forge.repository
    if facts.is_archived:
        raise UsageError(f"{target} is archived and takes no pull requests")
    remote = Remote(remote.name, target, remote.push_address)
    base = arguments.base or facts.default_branch
    if base == work.branch:
        raise UsageError(
            f"--base: {base} is the item's own branch; name the one to merge into"
        )
    return PullSession(arguments, work, forge, remote, base)


@dataclass(frozen=True, slots=True)
class _Joined:
    """What is to be done about entries of change logs, and what is said about it."""

    remark: str = ""
    commit: str = ""
    """The commit to push that has the entries of both sides."""


def _join_entries(session: PullSession, there: str) -> _Joined:
    """Find out whether a merge needs nothing but joined entries of change logs; with
    --push return the commit that has them.
    """
    from agentos.repository.forge.pulls import joining

    work, base = session.work, session.base
    if not work.change_logs:
        return _Joined()
    target = session.forge.find_commit(base)
    if not target:
        return _Joined()
    logs = " and ".join(work.change_logs)
    place = session.remote.repository
    if not joining.has_commit(session.clone.git(), target):
        fetch = shlex.join(("git", "fetch", session.remote.name))
        return _Joined(
            f"{base} is at {target[:12]} on {place}, which is not here; if its entries"
            f" of {logs} conflict: {fetch}, and run again with --push"
        )
    tip = work.commit
    if session.has_work(there):
        tip = there
    if not joining.needs_joining(session.clone, tip, target):
        return _Joined()
    is_dry = session.arguments.dry_run
    if is_dry or not session.arguments.push:
        would = "would join" if session.arguments.push else "add --push to join"
        return _Joined(f"{would} the entries of {logs} with those of {base}")
    message = f"Merge {base} into {work.branch}\n\nThe entries of {logs} are joined.\n"
    commit = joining.join_with(session.clone, tip, target, message)
    return _Joined(
        f"the entries of {logs} are joined with those of {base} in {commit[:12]}, which"
        f" is on {place} alone",
        commit,
    )


def _push(session: PullSession, there: str, joined: str) -> str:
    """Push the branch, or the commit with joined entries on top of it, and return its
    commit on the forge.
    """
    from agentos.repository.forge.pulls.pushing import push_branch

    work, remote = session.work, session.remote
    wanted = joined or work.commit
    if not joined and session.has_work(there):
        return there
    push_branch(session.clone, remote, work.branch, wanted)
    # A forge may need a moment before it shows what was pushed.
    for look in range(MAX_LOOKS):
        if look and session.forge.pause(0.5 * look):
            break
        there = session.forge.find_commit(work.branch)
        if there == wanted:
            return there
    raise Unavailable(
        f"{work.branch} was pushed, but {remote.repository} does not show it yet; run"
        " again"
    )


def _remarks(
    session: PullSession, pull: Pull, there: str, *, is_new: bool
) -> list[str]:
    arguments = session.arguments
    label = session.forge.label
    remarks = []
    if not session.work.is_as_built:
        remarks.append("its branch has commits that the reports do not cover")
    if not session.has_work(there):
        remarks.append(session.describe_unpushed(there))
    if not is_new and arguments.base and pull.base != arguments.base:
        remarks.append(
            f"it goes into {pull.base}, not {arguments.base}; change that on {label}"
        )
    if not is_new and arguments.ready and pull.is_draft:
        remarks.append(f"it is a draft; mark it as ready on {label}")
    return remarks


def _report_ended(session: PullSession, pull: Pull) -> int:
    if pull.state == "merged":
        _report(session, pull, "merged", [])
        return 0
    reference = session.remote.repository.refer(pull.number)
    raise UsageError(
        f"{reference} proposed the same commit and was closed; reopen it on"
        f" {session.forge.label}: {pull.url}"
    )


def _report(session: PullSession, pull: Pull, did: str, remarks: Sequence[str]) -> None:
    kind = "draft pull request" if pull.is_draft else "pull request"
    reference = session.remote.repository.refer(pull.number)
    done = did if did == "opened" else f"{did} already"
    line = f"{session.work.item.label}: {kind} {reference} {done}: {pull.url}"
    session.print_result(
        [line, *(f"  {remark}" for remark in remarks)],
        did=did,
        number=pull.number,
        url=pull.url,
        draft=pull.is_draft,
        base=pull.base,
        remarks=remarks,
    )


def _show(session: PullSession, there: str, opened: Sequence[Pull]) -> int:
    """Print what would be done."""
    work, target = session.work, session.remote.repository
    proposal = session.propose()
    steps = []
    is_pushed = session.has_work(there)
    if not is_pushed and session.arguments.push:
        steps.append(f"would push {work.branch} at {work.commit[:12]} to {target}")
        is_pushed = True
    if opened:
        pull = opened[0]
        steps.append(f"{target.refer(pull.number)} is open already: {pull.url}")
    elif is_pushed:
        kind = "draft pull request" if proposal.is_draft else "pull request"
        steps.append(
            f"would open a {kind} on {target}: {work.branch} into {proposal.base}"
        )
    else:
        steps.append(session.describe_unpushed(there))
    joined = _join_entries(session, there)
    if joined.remark:
        steps.append(joined.remark)
    lines = [f"{work.item.label}: {step}" for step in steps]
    lines += [f"Title: {proposal.title}", "", proposal.body.removesuffix("\n")]
    session.print_result(
        lines,
        did="nothing",
        steps=steps,
        base=proposal.base,
        title=proposal.title,
        body=proposal.body,
    )
    return 0

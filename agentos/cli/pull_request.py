"""`agentos pr`: open a pull request for an implemented item, with its reports as the body."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentos.cli.holding import held
from agentos.cli.parser import EPILOG, Parser
from agentos.cli.repository import add_repository_argument, repository_of
from agentos.cli.workflow import COME_AGAIN
from agentos.errors import ItemError, UsageError
from agentos.github import Unavailable
from agentos.home import Home, home_path, repository_key
from agentos.plan.selection import normalise_id
from agentos.pulling import Proposal, Pull
from agentos.pulling.body import write_body, write_title
from agentos.pulling.work import Work, check_reports, find_work, say_closes
from agentos.task import Task, Workflow
from agentos.untrusted import print_clean
from agentos.worktrees.repository import find_repository

if TYPE_CHECKING:
    from agentos.github.client import Client
    from agentos.pulling.pushing import Remote

LOOKS = 5
"""How often GitHub is asked for what was pushed a moment ago."""
DESCRIPTION = """\
Open a draft pull request for an implemented item, with its implementation report and test report as the body. Its
branch has to be on GitHub: without --push nothing is pushed, and the command to do it is told. Running it again finds
the pull request that is open and opens no other.

examples:
  agentos pr 42             open a draft from agentos/42-... into the repository's default branch
  agentos pr 42 --push      push exactly that branch first, never by force
  agentos pr 42 --dry-run   show title and body and what would be done

Exit code 0 when the pull request is open or merged, 2 when it cannot be opened, 75 when GitHub cannot be had for now.
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """All that is known once GitHub can be asked."""

    args: argparse.Namespace
    work: Work
    client: Client
    remote: Remote
    default_base: str

    @property
    def base(self) -> str:
        """The branch into which the pull request goes."""
        return self.args.base or self.default_base

    @property
    def push_command(self) -> str:
        """What a person types to bring the branch to GitHub."""
        place = ("-C", str(self.args.repo)) if self.args.repo is not None else ()
        return shlex.join(("git", *place, "push", self.remote.name, self.work.branch))


def main(arguments: Sequence[str]) -> int:
    """Open the pull request, or tell of the one that is there."""
    args = build_parser().parse(arguments)
    repository = repository_of(args)
    home = Home(home_path(os.environ))
    home.check_private()
    item = normalise_id(args.item, Workflow.IMPLEMENTATION)
    key, task = repository_key(repository), Task(Workflow.IMPLEMENTATION, item, "")
    try:
        work = find_work(home, repository, item)
        with nullcontext() if args.dry_run else held(home, key, task, "agentos pr"):
            return _run(args, repository, work)
    except Unavailable as error:
        print_clean(f"agentos: {error}\n", sys.stderr)
        return COME_AGAIN
    except ItemError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename or repository}: {error.strerror or error}") from error


def build_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(prog="agentos pr", usage="agentos pr ITEM [options]", description=DESCRIPTION, epilog=EPILOG)
    add_arguments(parser)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("item", metavar="ITEM", help="an id such as 42, or IMPL-42")
    parser.add_argument("--base", metavar="BRANCH", help="where it is to be merged (default: the default branch there)")
    parser.add_argument("--ready", action="store_true", help="ready for review at once, no draft")
    parser.add_argument("--push", action="store_true", help="push the item's branch first, and nothing else")
    parser.add_argument("--remote", default="origin", metavar="NAME", help="the remote on GitHub (default: origin)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done and change nothing")
    add_repository_argument(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON document")


def _run(args: argparse.Namespace, repository: Path, work: Work) -> int:
    from agentos.pulling.asking import find_commit, find_pulls, open_pull
    from agentos.pulling.pushing import clear_leftover

    scene = _set_scene(args, repository, work)
    target = scene.remote.repository
    there = find_commit(scene.client, target, work.branch)
    pulls = find_pulls(scene.client, target, work.branch)
    # What was merged may be gone from GitHub, and is not pushed there again.
    ended = next((pull for pull in pulls if pull.commit == work.commit and pull.state != "open"), None)
    is_open = any(pull.state == "open" for pull in pulls)
    if ended is not None and not is_open:
        return _tell_ended(scene, ended)
    # Only now, as the token has become known meanwhile.
    check_reports(work)
    if args.dry_run:
        return _show(scene, there, pulls)
    clear_leftover(find_repository(repository), work.branch)
    if args.push and there != work.commit:
        there = _push(scene, repository)
    if not is_open and there != work.commit:
        raise UsageError(_say_unpushed(scene, there))
    proposal = _propose(scene)
    pull, is_new = open_pull(scene.client, target, proposal)
    remarks = _remarks(scene, pull, there, is_new=is_new)
    remarks += [f"before it {target.refer(other.number)} was {other.state}" for other in pulls if other.state != "open"]
    _tell(scene, pull, "opened" if is_new else "open", remarks)
    return 0


def _set_scene(args: argparse.Namespace, repository: Path, work: Work) -> Scene:
    from agentos.github.address import read_server
    from agentos.github.client import Client
    from agentos.github.token import find_token
    from agentos.pulling.pushing import Remote, find_remote

    server = read_server(os.environ)
    remote = find_remote(find_repository(repository), args.remote, server)
    token = find_token(os.environ, server.host)
    if token is None:
        raise UsageError("a pull request needs a token; set GITHUB_TOKEN, or run: gh auth login")
    client = Client(server, token, lambda text: print_clean(f"{text}\n", sys.stderr), subject="pull requests")
    target, facts = client.find_repository(remote.repository)
    if facts.get("archived") is True:
        raise UsageError(f"{target} is archived and takes no pull requests")
    scene = Scene(
        args, work, client, Remote(remote.name, target, remote.push_address), str(facts.get("default_branch") or "main")
    )
    if scene.base == work.branch:
        raise UsageError(f"--base: {scene.base} is the item's own branch; name the one to merge into")
    return scene


def _propose(scene: Scene) -> Proposal:
    work = scene.work
    label = Task(Workflow.LLD, work.task.item, "").label
    closes = say_closes(work.issue, scene.remote.repository)
    return Proposal(
        branch=work.branch,
        base=scene.base,
        title=write_title(work.title, label),
        body=write_body(closes, work.reports, f"`{work.where}` where it was built"),
        is_draft=not scene.args.ready,
    )


def _push(scene: Scene, repository: Path) -> str:
    """Push the branch, and return what GitHub itself says it has then."""
    from agentos.github.address import read_server
    from agentos.pulling.asking import find_commit
    from agentos.pulling.pushing import push_branch

    work, there = scene.work, ""
    push_branch(find_repository(repository), scene.remote, read_server(os.environ), work.branch, work.commit)
    for look in range(LOOKS):
        if look and scene.client.pause(0.5 * look):
            break
        there = find_commit(scene.client, scene.remote.repository, work.branch)
        if there == work.commit:
            return there
    raise Unavailable(f"{work.branch} was pushed, and {scene.remote.repository} does not have it yet; run again")


def _say_unpushed(scene: Scene, there: str) -> str:
    work, target = scene.work, scene.remote.repository
    if not there:
        return f"{work.branch} is not on {target}; push it with: {scene.push_command} (or add --push)"
    return (
        f"{work.branch} is at {there[:12]} on {target} and at {work.commit[:12]} here; "
        f"push it with: {scene.push_command} (or add --push)"
    )


def _remarks(scene: Scene, pull: Pull, there: str, *, is_new: bool) -> list[str]:
    remarks = []
    if not scene.work.is_as_built:
        remarks.append("its branch has commits that the reports do not know")
    if there != scene.work.commit:
        remarks.append(_say_unpushed(scene, there))
    if not is_new and scene.args.base and pull.base != scene.args.base:
        remarks.append(f"it goes into {pull.base}, not {scene.args.base}; change that there")
    if not is_new and scene.args.ready and pull.is_draft:
        remarks.append("it is a draft; mark it as ready there")
    return remarks


def _tell_ended(scene: Scene, pull: Pull) -> int:
    reference = scene.remote.repository.refer(pull.number)
    if pull.state == "merged":
        _tell(scene, pull, "merged", [])
        return 0
    raise UsageError(f"{reference} offered this very commit and was closed; open it again there: {pull.url}")


def _tell(scene: Scene, pull: Pull, did: str, remarks: Sequence[str]) -> None:
    work = scene.work
    if scene.args.json:
        _write_json(
            scene,
            did=did,
            number=pull.number,
            url=pull.url,
            draft=pull.is_draft,
            base=pull.base,
            remarks=list(remarks),
        )
        return
    draft = "draft pull request" if pull.is_draft else "pull request"
    words = {"opened": "opened", "open": "open already", "merged": "merged already"}[did]
    reference = scene.remote.repository.refer(pull.number)
    lines = [f"{work.task.label}: {draft} {reference} {words}: {pull.url}", *(f"  {remark}" for remark in remarks)]
    print_clean("".join(f"{line}\n" for line in lines))


def _show(scene: Scene, there: str, pulls: Sequence[Pull]) -> int:
    """Say what would be done."""
    work, target = scene.work, scene.remote.repository
    is_pushing = there != work.commit and scene.args.push
    proposal = _propose(scene)
    opened = next((pull for pull in pulls if pull.state == "open"), None)
    if opened is not None:
        step = f"{target.refer(opened.number)} is open already: {opened.url}"
    elif there != work.commit and not is_pushing:
        step = _say_unpushed(scene, there)
    else:
        kind = "draft pull request" if proposal.is_draft else "pull request"
        step = f"would open a {kind} on {target}: {work.branch} into {proposal.base}"
    steps = [f"would push {work.branch} at {work.commit[:12]} to {target}", step] if is_pushing else [step]
    if scene.args.json:
        _write_json(scene, did="nothing", steps=steps, base=proposal.base, title=proposal.title, body=proposal.body)
    else:
        lines = [*(f"{work.task.label}: {step}" for step in steps), f"Title: {proposal.title}", "", proposal.body]
        print_clean("\n".join(lines))
    return 0


def _write_json(scene: Scene, **facts: Any) -> None:
    work = scene.work
    known = {"schema": 1, "label": work.task.label, "repository": str(scene.remote.repository)}
    document = {**known, "branch": work.branch, "commit": work.commit, **facts}
    print_clean(json.dumps(document, indent=2) + "\n")

"""`agentos pr` opens one pull request for an implemented item, whatever is killed, lost
or hostile on the way.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentos.item import Item, State
from agentos.kinds import Kind
from agentos.state import locks
from agentos.state.home import Home, repository_key
from tests.commands.built import REPORT, TESTS, build_item, make_clone, record_end
from tests.forge import Cut, Expire, Fault, Hold, Hub, Limit, Repo, Status, serve
from tests.forge.hub import TOKEN
from tests.forge.pulls import add_pull, run_git, tip_of
from tests.repository.git.ground import git, write_files
from tests.support import SIGKILL, Finished, World

BRANCH = "agentos/42-export-the-shelf"


@dataclass
class Place:
    """A clone with an implemented item, and the GitHub that its origin is on."""

    world: World
    hub: Hub
    origin: Path

    @property
    def shop(self) -> Repo:
        """The repository on GitHub."""
        return self.hub.repos["acme/shop"]

    @property
    def pulls(self) -> list[dict[str, Any]]:
        """All pull requests there."""
        return self.shop.pulls

    @property
    def tip(self) -> str:
        """The commit of the item's branch here."""
        return git(self.world.repo, "rev-parse", BRANCH).strip()

    def run(self, *flags: str, item: str = "42") -> Finished:
        """Run the command."""
        return self.world.run("agentos", "pr", item, *flags)

    def push(self) -> None:
        """Push the branch as a user would."""
        git(self.world.repo, "push", "-q", str(self.origin), BRANCH)


@pytest.fixture
def hub() -> Iterator[Hub]:
    """An empty GitHub."""
    with serve() as hub:
        yield hub


@pytest.fixture
def place(make_world: Callable[..., World], hub: Hub, tmp_path: Path) -> Place:
    """A clone whose origin is on the GitHub, with the user's own credential helper."""
    world = make_world(issues=0)
    make_clone(world)
    build_item(world)
    origin = tmp_path / "origin.git"
    git(
        tmp_path,
        "clone",
        "-q",
        "--bare",
        "--single-branch",
        "-b",
        "main",
        str(world.repo),
        str(origin),
    )
    git(origin, "config", "http.receivepack", "true")
    return connect(world, hub, origin)


def connect(world: World, hub: Hub, origin: Path) -> Place:
    """Have the clone's origin be a bare repository on a GitHub, and the user known
    there.
    """
    hub.repo("acme/shop").add("An issue of somebody else")
    hub.repos["acme/shop"].git_dir = origin
    git(world.repo, "remote", "remove", "origin", check=False)
    git(world.repo, "remote", "add", "origin", f"{hub.url}/acme/shop.git")
    user = Path(world.environ["HOME"])
    user.mkdir(exist_ok=True)
    (user / "secrets").write_text(
        hub.url.replace("://", f"://someone:{TOKEN}@") + "\n", "utf-8"
    )
    (user / ".gitconfig").write_text(
        f"[credential]\n\thelper = store --file={user}/secrets\n", "utf-8"
    )
    environ = {**world.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN}
    return Place(World(world.repo, world.home, environ), hub, origin)


def assert_opened_once(place: Place) -> None:
    """There is exactly one pull request, with the item's commit, and nothing is left
    behind here.
    """
    assert [pull["head"]["sha"] for pull in place.pulls] == [place.tip]
    assert place.world.leftovers() == []
    assert not list((place.world.repo / ".git").glob("agentos-push*"))


def test_a_draft_with_the_reports_as_its_body_is_opened_and_found_again(
    place: Place,
) -> None:
    place.push()
    ended = place.run()
    assert ended.code == 0, ended.text
    (pull,) = place.pulls
    assert (
        ended.stdout
        == f"IMPL-42: draft pull request acme/shop#2 opened: {place.hub.url}/acme/shop/pull/2\n"
    )
    assert pull["title"] == "Export the shelf (LLD-42)"
    assert pull["draft"] is True
    assert (pull["base"]["ref"], pull["head"]["ref"]) == ("main", BRANCH)
    assert pull["body"].startswith("# 42 - Implementation report\n")
    assert pull["body"].index("None.") < pull["body"].index("# 42 - Test report")
    assert "agentos: input" not in pull["body"]
    assert "Closes" not in pull["body"]
    again = place.run("--ready", "--base", "next", item="IMPL-042")
    assert again.code == 0, again.text
    assert "draft pull request acme/shop#2 open already" in again.stdout
    assert "it is a draft; mark it as ready on GitHub" in again.stdout
    assert "it goes into main, not next" in again.stdout
    assert_opened_once(place)
    assert place.hub.count("POST") == 1


def test_ready_base_and_json_are_as_asked_for(place: Place) -> None:
    place.push()
    git(place.origin, "branch", "next", "main")
    ended = place.run("--ready", "--base", "next", "--json")
    told = json.loads(ended.stdout)
    assert told == {
        "schema": 1,
        "label": "IMPL-42",
        "repository": "acme/shop",
        "branch": BRANCH,
        "commit": place.tip,
        "did": "opened",
        "number": 2,
        "url": f"{place.hub.url}/acme/shop/pull/2",
        "draft": False,
        "base": "next",
        "remarks": [],
    }
    assert json.loads(place.run("--json").stdout)["did"] == "open"


def test_nothing_is_pushed_unless_asked_for_and_the_command_is_told(
    place: Place,
) -> None:
    ended = place.run()
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"agentos pr: {BRANCH} is not on acme/shop; push it with: git push origin {BRANCH} (or add --push)\n"
    )
    assert tip_of(place.shop, BRANCH) == ""
    git(place.origin, "branch", BRANCH, "main")
    ended = place.run()
    assert ended.code == 2
    assert (
        f"and at {place.tip[:12]} here; push it with: git push origin {BRANCH}"
        in ended.stderr
    )
    assert place.pulls == []
    command = ended.stderr.partition("push it with: ")[2].partition(" (or")[0].split()
    assert place.world.run(*command).code == 0
    assert place.run().code == 0
    assert_opened_once(place)


def test_push_puts_one_branch_there_with_the_users_helper_and_with_nothing_that_the_repository_names(
    place: Place, tmp_path: Path
) -> None:
    repo, trap = place.world.repo, tmp_path / "trap"
    hook = repo / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n", "utf-8")
    hook.chmod(0o755)
    for key, value in {
        "credential.helper": f"!touch {trap}; false",
        f"credential.{place.hub.url}.helper": f"!touch {trap}; false",
        "core.sshCommand": f"touch {trap};",
        "core.askPass": f"{hook}",
        "core.fsmonitor": f"{hook}",
        "remote.origin.receivepack": f"touch {trap};",
        "remote.origin.proxy": "http://127.0.0.1:9",
        "http.proxy": "http://127.0.0.1:9",
        f"http.{place.hub.url}.proxy": "http://127.0.0.1:9",
        "remote.origin.mirror": "true",
        "push.followTags": "true",
        "push.gpgSign": "true",
    }.items():
        git(repo, "config", key, value)
    git(repo, "tag", "-a", "-m", "x", "v1", BRANCH)
    config = (repo / ".git/config").read_bytes()
    before = git(repo, "for-each-ref")
    ended = place.run("--push")
    assert ended.code == 0, ended.text
    assert not trap.exists()
    refs = run_git(place.origin, "for-each-ref", "--format=%(refname)").decode().split()
    assert refs == [f"refs/heads/{BRANCH}", "refs/heads/main"]
    assert (repo / ".git/config").read_bytes() == config
    assert git(repo, "for-each-ref") == before
    assert_opened_once(place)


def test_a_branch_with_other_commits_is_not_overwritten(place: Place) -> None:
    git(place.origin, "branch", BRANCH, "main")
    tree = git(place.origin, "rev-parse", "main^{tree}").strip()
    other = git(
        place.origin, "commit-tree", tree, "-p", "main", "-m", "Of a colleague"
    ).strip()
    git(place.origin, "update-ref", f"refs/heads/{BRANCH}", other)
    ended = place.run("--push")
    assert ended.code == 2
    assert "--push: git refused: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert tip_of(place.shop, BRANCH) == other
    assert place.pulls == []


def test_new_commits_are_pushed_to_the_pull_request_that_is_open(place: Place) -> None:
    assert place.run("--push").code == 0
    tree = git(place.world.repo, "rev-parse", f"{BRANCH}^{{tree}}").strip()
    more = git(
        place.world.repo, "commit-tree", tree, "-p", BRANCH, "-m", "By hand"
    ).strip()
    git(place.world.repo, "update-ref", f"refs/heads/{BRANCH}", more)
    ended = place.run()
    assert ended.code == 0, ended.text
    assert "open already" in ended.stdout
    assert "its branch has commits that the reports do not cover" in ended.stdout
    assert f"push it with: git push origin {BRANCH}" in ended.stdout
    assert place.run("--push").code == 0
    assert tip_of(place.shop, BRANCH) == more
    assert len(place.pulls) == 1


def test_a_push_that_is_not_allowed_tells_what_git_said_and_no_secret(
    place: Place,
) -> None:
    user = Path(place.world.environ["HOME"])
    (user / ".gitconfig").unlink()
    ended = place.run("--push")
    assert ended.code == 2
    assert ended.stderr.startswith("agentos pr: --push: git refused: ")
    assert ended.stderr.count("\n") == 1
    secret = "Zx9-passphrase-of-mine"
    git(
        place.world.repo,
        "remote",
        "set-url",
        "origin",
        place.hub.url.replace("://", f"://me:{secret}@") + "/acme/shop",
    )
    ended = place.run("--push")
    assert ended.code == 2
    assert secret not in ended.text
    assert place.pulls == []


def test_a_shallow_clone_can_be_pushed(place: Place, tmp_path: Path, hub: Hub) -> None:
    shallow = tmp_path / "shallow"
    git(place.world.repo, "commit", "-q", "--allow-empty", "-m", "Second")
    git(place.world.repo, "push", "-q", str(place.origin), "main")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{place.origin}", str(shallow))
    world = World(shallow, place.world.home, place.world.environ)
    build_item(world)
    other = connect(world, hub, place.origin)
    assert (shallow / ".git/shallow").exists()
    ended = other.run("--push")
    assert ended.code == 0, ended.text
    assert_opened_once(other)


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_dry_run_shows_title_and_body_and_changes_nothing(
    place: Place, is_dry: bool
) -> None:
    if not is_dry:
        place.push()
    ended = place.run("--push", "--dry-run")
    assert ended.code == 0, ended.text
    assert (f"would push {BRANCH}" in ended.stdout) == is_dry
    assert (
        f"IMPL-42: would open a draft pull request on acme/shop: {BRANCH} into main\n"
        in ended.stdout
    )
    assert "\nTitle: Export the shelf (LLD-42)\n" in ended.stdout
    assert "# 42 - Test report" in ended.stdout
    assert (
        json.loads(place.run("--dry-run", "--json").stdout)["title"]
        == "Export the shelf (LLD-42)"
    )
    assert place.hub.count("POST") == 0
    assert place.pulls == []
    assert bool(tip_of(place.shop, BRANCH)) != is_dry
    assert place.world.leftovers() == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("github:acme/shop#42", "Closes #42\n\n# 42 - Implementation"),
        ("github:ACME/Shop#42", "Closes #42\n\n"),
        ("github:acme/plans#42", "Closes acme/plans#42\n\n"),
        ("github:acme/shop#41", ""),
        ("github:a b/@c#42", ""),
        ("docs/issues/42.md", ""),
    ],
)
def test_only_an_issue_of_github_is_closed(
    place: Place, source: str, words: str
) -> None:
    record_end(place.world, Kind.LLD, "42", State.APPROVED, source)
    ended = place.run("--push")
    assert ended.code == 0, ended.text
    body = place.pulls[0]["body"]
    assert body.startswith(words or "# 42")
    assert ("Closes" in body) == bool(words)


def test_hostile_reports_ping_nobody_close_nothing_and_stay_within_the_limit(
    place: Place,
) -> None:
    hostile = "Fixes #1, closes acme/shop#1 and https://github.com/acme/shop/issues/1, thanks @everyone <!-- \x1b[2J"
    folder = place.world.repo / "docs/reports/42"
    section = "## Part\n\n" + "text of a part\n" * 200
    report = (
        REPORT.replace("Export the shelf", f"Export @admin {hostile}")
        + hostile
        + "\n"
        + section * 40
    )
    (folder / "implementation-report.md").write_text(report, "utf-8")
    ended = place.run("--push")
    assert ended.code == 0, ended.text
    (pull,) = place.pulls
    assert len(pull["body"]) <= 65_536
    assert (
        "Cut here, as GitHub takes 65,536 characters. The whole is in `docs/reports/42`"
        in pull["body"][-150:]
    )
    for text in (pull["title"], pull["body"]):
        for active in ("@admin", "@everyone", "#1", "https:", "<!--", "\x1b"):
            assert active not in text
    assert len(pull["title"]) <= 256


@pytest.mark.parametrize("state", ["closed", "merged"])
def test_a_pull_request_of_the_same_commit_that_has_ended_is_told_and_not_opened_again(
    place: Place, state: str
) -> None:
    place.push()
    assert place.run().code == 0
    place.pulls[0]["state"] = "closed"
    place.pulls[0]["merged_at"] = "2026-01-01T00:00:00Z" if state == "merged" else None
    git(place.origin, "update-ref", "-d", f"refs/heads/{BRANCH}")
    ended = place.run("--push")
    assert ended.code == (0 if state == "merged" else 2)
    assert (
        "merged already" in ended.stdout
        if state == "merged"
        else "was closed; reopen it on GitHub" in ended.stderr
    )
    assert len(place.pulls) == 1
    assert tip_of(place.shop, BRANCH) == ""


def test_new_work_after_a_closed_one_gets_a_pull_request_and_the_closed_one_is_told(
    place: Place,
) -> None:
    git(place.origin, "branch", BRANCH, "main")
    add_pull(place.shop, BRANCH)["state"] = "closed"
    ended = place.run("--push")
    assert ended.code == 0, ended.text
    assert "acme/shop#3 opened" in ended.stdout
    assert "before it acme/shop#2 was closed" in ended.stdout


def test_the_pull_request_of_a_strangers_fork_is_not_taken_for_ours(
    place: Place,
) -> None:
    place.push()
    add_pull(place.shop, BRANCH, owner="mallory")
    # One that comes although it was not asked for, as from a server that does not
    # understand the question.
    add_pull(place.shop, BRANCH, owner="mallory")["head"]["label"] = f"acme:{BRANCH}"
    ended = place.run()
    assert "acme/shop#4 opened" in ended.stdout, ended.text


def request(index: int) -> Callable[[Any], bool]:
    """Pick the request of a number."""
    return lambda seen: bool(seen.index == index)


def at(verb: str, part: str) -> Callable[[Any], bool]:
    """Pick requests."""
    return lambda seen: seen.verb == verb and part in seen.path


@pytest.mark.parametrize(
    "fault",
    [
        Cut(at("POST", "/pulls"), after_effect=True),
        Cut(at("POST", "/pulls")),
        Status(at("POST", "/pulls"), status=502),
        Status(at("GET", "/pulls"), times=2, status=503),
        Limit(at("POST", "/pulls"), retry_after=1),
    ],
    ids=lambda fault: (
        f"{type(fault).__name__}-{getattr(fault, 'after_effect', '')}-{getattr(fault, 'status', '')}"
    ),
)
def test_an_answer_that_is_lost_or_late_does_not_lead_to_a_second_one(
    place: Place, fault: Fault
) -> None:
    fault.struck = 0
    place.push()
    place.hub.fault(fault)
    ended = place.run()
    assert ended.code == 0, ended.text
    assert "acme/shop#2 opened" in ended.stdout
    assert_opened_once(place)
    assert place.hub.too_early == []


def test_a_github_that_stays_away_is_exit_75(place: Place) -> None:
    place.push()
    place.hub.fault(Cut(at("POST", "/pulls"), times=99))
    ended = place.run()
    assert ended.code == 75
    assert "3 times; run again" in ended.stderr
    assert place.pulls == []


def test_one_that_somebody_opened_in_between_is_taken(place: Place) -> None:
    place.push()
    hold = place.hub.fault(Hold(at("POST", "/pulls")))
    with place.world.start("agentos", "pr", "42") as running:
        assert hold.reached.wait(60)
        add_pull(place.shop, BRANCH, address=place.hub.url)
        hold.released.set()
        ended = running.finish()
    assert ended.code == 0, ended.text
    assert "pull request acme/shop#2 open already" in ended.stdout
    assert_opened_once(place)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda place: place.hub.tokens.clear(), "refuses the token of GITHUB_TOKEN"),
        (
            lambda place: place.hub.fault(Expire(at("POST", "/pulls"))),
            "refuses the token of GITHUB_TOKEN",
        ),
        (lambda place: place.hub.repos.clear(), "acme/shop: not found on 127.0.0.1"),
        (
            lambda place: setattr(place.shop, "may_push", False),
            "the token needs to write pull requests there",
        ),
        (
            lambda place: setattr(place.shop, "is_archived", True),
            "acme/shop is archived",
        ),
        (
            lambda place: setattr(place.shop, "has_drafts", False),
            "where drafts are not offered use --ready",
        ),
        (
            lambda place: setattr(place.shop, "default_branch", "gone"),
            "status 422 (Validation Failed; base: invalid)",
        ),
        (
            lambda place: git(place.world.repo, "remote", "remove", "origin"),
            "has no remote origin",
        ),
        (
            lambda place: git(
                place.world.repo,
                "remote",
                "set-url",
                "origin",
                "https://example.org/a/b",
            ),
            "is not on 127.0.0.1",
        ),
    ],
)
def test_a_refusal_is_one_clear_line_without_the_token(
    place: Place, prepare: Callable[[Place], object], words: str
) -> None:
    place.push()
    prepare(place)
    ended = place.run()
    assert ended.code == 2, ended.text
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert TOKEN not in ended.text
    assert ended.stdout == ""


def forget_state(place: Place) -> None:
    """Have no item run here."""
    shutil.rmtree(place.world.home / "items")


@pytest.mark.parametrize(
    ("prepare", "flags", "words"),
    [
        (lambda place: None, ("--remote", "--upload-pack=x"), "expected one argument"),
        (lambda place: None, ("--remote=-x",), "is not the name of a remote"),
        (lambda place: None, ("--base", BRANCH), "is the item's own branch"),
        (lambda place: None, ("--repo", "/"), "is not in a git repository"),
        (
            forget_state,
            (),
            "IMPL-42: has not been implemented here; run: implement-workflow --issue 42",
        ),
        (
            lambda place: record_end(
                place.world, Kind.IMPLEMENTATION, "42", State.FAILED, "x"
            ),
            (),
            "IMPL-42 is failed; a pull request is for implemented items",
        ),
        (
            lambda place: shutil.rmtree(place.world.repo / "docs/reports"),
            (),
            "docs/reports/42/implementation-report.md",
        ),
        (
            lambda place: git(
                place.world.repo, "update-ref", "-d", f"refs/heads/{BRANCH}"
            ),
            (),
            "IMPL-42: its branch is gone; what is kept of it: agentos salvage 42",
        ),
        (
            lambda place: git(
                place.world.repo, "update-ref", f"refs/heads/{BRANCH}", "main"
            ),
            (),
            "has no commit of its own",
        ),
    ],
)
def test_what_cannot_be_offered_is_refused_before_github_is_asked(
    place: Place, prepare: Callable[[Place], object], flags: tuple[str, ...], words: str
) -> None:
    prepare(place)
    ended = place.run(*flags)
    assert ended.code == 2, ended.text
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert place.hub.count("POST") == 0
    assert place.pulls == []


def test_a_report_that_is_a_link_is_not_published(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("nobody's business", "utf-8")
    report = place.world.repo / "docs/reports/42/test-report.md"
    report.unlink()
    report.symlink_to(secret)
    ended = place.run("--push")
    assert ended.code == 2
    assert "docs/reports/42/test-report.md: is a link" in ended.stderr
    assert place.pulls == []


def test_without_a_token_the_way_to_one_is_told(place: Place) -> None:
    environ = {
        name: value
        for name, value in place.world.environ.items()
        if name != "GITHUB_TOKEN"
    }
    ended = World(place.world.repo, place.world.home, environ).run(
        "agentos", "pr", "42"
    )
    assert (ended.code, ended.stdout) == (2, "")
    assert "set GITHUB_TOKEN, or run: gh auth login" in ended.stderr


@pytest.mark.parametrize(
    "token", [TOKEN, "sk-ant-api03-Zm9vYmFyYmF6cXV4-Zm9vYmFyYmF6cXV4_AA"]
)
def test_a_report_with_a_key_is_not_published(place: Place, token: str) -> None:
    path = place.world.repo / "docs/reports/42/test-report.md"
    path.write_text(f"{TESTS}\nThe token was {token}.\n", "utf-8")
    line = path.read_text("utf-8").count("\n")
    for flags in (("--dry-run", "--push"), ("--push",)):
        ended = place.run(*flags)
        assert ended.code == 2
        assert token not in ended.text
        assert (
            f"docs/reports/42/test-report.md, line {line}: holds a key, or what looks like one"
            in ended.stderr
        )
    assert place.pulls == []
    assert git(place.origin, "for-each-ref", f"refs/heads/{BRANCH}") == ""
    path.write_text(TESTS, "utf-8")
    assert place.run("--push").code == 0


def test_an_item_that_is_being_run_is_left_alone(place: Place) -> None:
    item = Item(Kind.IMPLEMENTATION, "42", "")
    path = Home(place.world.home).item(repository_key(place.world.repo), item).lock
    lock = locks.acquire(path, "implement-workflow")
    assert isinstance(lock, locks.ItemLock)
    try:
        ended = place.run("--push")
    finally:
        lock.release()
    assert ended.code == 2
    assert "IMPL-42 is being run by pid" in ended.stderr
    assert place.pulls == []


def test_a_kill_at_any_request_leaves_nothing_that_a_rerun_gets_wrong(
    place: Place, tmp_path: Path
) -> None:
    struck = 0
    for step in range(99):
        before = struck
        for after_effect in (False, True):
            with serve() as hub:
                origin = tmp_path / f"origin-{step}-{after_effect}.git"
                shutil.copytree(place.origin, origin)
                there = connect(place.world, hub, origin)
                hold = hub.fault(Hold(request(step), after_effect=after_effect))
                with there.world.start("agentos", "pr", "42", "--push") as running:
                    while (
                        not hold.reached.wait(0.02) and running.process.poll() is None
                    ):
                        pass
                    struck += hold.reached.is_set()
                    if hold.reached.is_set():
                        running.signal(SIGKILL)
                    running.finish()
                hold.is_dropped = True
                hold.released.set()
                again = there.run("--push")
                assert again.code == 0, f"request {step}: {again.text}"
                assert_opened_once(there)
        if struck == before:
            break
    assert struck >= 16


def test_a_request_of_a_killed_command_that_arrives_late_opens_no_second_one(
    place: Place,
) -> None:
    place.push()
    hold = place.hub.fault(Hold(at("POST", "/pulls")))
    with place.world.start("agentos", "pr", "42") as running:
        assert hold.reached.wait(60)
        running.signal(SIGKILL)
        running.finish()
    again = place.run()
    assert "acme/shop#2 opened" in again.stdout, again.text
    late = next(seen for seen in place.hub.seen if seen.verb == "POST")
    hold.released.set()
    assert place.hub.wait_answered(late.index)
    assert_opened_once(place)


LOG = b"# Changelog\n\n- Old\n"


@pytest.fixture
def logged(make_world: Callable[..., World], hub: Hub, tmp_path: Path) -> Place:
    """A clone whose item adds an entry to the change log."""
    world = make_world(issues=0)
    write_files(world.repo, {"CHANGELOG.md": LOG})
    make_clone(world)
    build_item(world, files={"CHANGELOG.md": LOG.replace(b"- Old", b"- 42\n- Old")})
    origin = tmp_path / "origin.git"
    git(tmp_path, "clone", "-q", "--bare", str(world.repo), str(origin))
    git(origin, "branch", "-q", "-D", BRANCH)
    git(origin, "config", "http.receivepack", "true")
    return connect(world, hub, origin)


def merge_elsewhere(place: Place, text: bytes) -> str:
    """Have somebody else's change of the log on main, here and on GitHub."""
    write_files(place.world.repo, {"CHANGELOG.md": text})
    git(place.world.repo, "commit", "-q", "-a", "-m", "Another item")
    git(place.world.repo, "push", "-q", str(place.origin), "main")
    return git(place.world.repo, "rev-parse", "main").strip()


def test_entries_of_a_change_log_are_joined_when_the_target_has_moved_on(
    logged: Place,
) -> None:
    assert logged.run("--push").code == 0
    tip = logged.tip
    assert tip_of(logged.shop, BRANCH) == tip
    main = merge_elsewhere(logged, LOG.replace(b"- Old", b"- 41\n- Old"))
    plain = logged.run()
    assert "add --push to join the entries of CHANGELOG.md with those of main" in (
        plain.stdout
    )
    assert tip_of(logged.shop, BRANCH) == tip
    dry = logged.run("--push", "--dry-run")
    assert "would join the entries of CHANGELOG.md" in dry.stdout
    assert tip_of(logged.shop, BRANCH) == tip
    ended = logged.run("--push")
    assert ended.code == 0, ended.text
    assert "the entries of CHANGELOG.md are joined with those of main in" in (
        ended.stdout
    )
    joined = tip_of(logged.shop, BRANCH)
    parents = run_git(logged.origin, "rev-parse", f"{joined}^1", f"{joined}^2")
    assert parents.decode().split() == [tip, main]
    log = run_git(logged.origin, "show", f"{joined}:CHANGELOG.md")
    assert log == LOG.replace(b"- Old", b"- 41\n- 42\n- Old")
    assert logged.tip == tip, "the branch here stays as it is"
    for flags in ((), ("--push",)):
        again = logged.run(*flags)
        assert again.code == 0, again.text
        assert "push it with" not in again.stdout
        assert "CHANGELOG" not in again.stdout
        assert tip_of(logged.shop, BRANCH) == joined
    assert len(logged.pulls) == 1


def test_a_target_that_was_not_fetched_is_told(logged: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(logged.origin), str(other))
    text = LOG.replace(b"- Old", b"- 41\n- Old")
    write_files(other, {"CHANGELOG.md": text})
    git(other, "commit", "-q", "-a", "-m", "Another item")
    git(other, "push", "-q", "origin", "main")
    ended = logged.run("--push")
    assert ended.code == 0, ended.text
    assert "which is not here; if its entries of CHANGELOG.md conflict: git fetch" in (
        ended.stdout
    )
    assert tip_of(logged.shop, BRANCH) == logged.tip


def test_another_conflict_is_left_to_a_person(logged: Place) -> None:
    merge_elsewhere(logged, LOG.replace(b"- Old", b"- New"))
    ended = logged.run("--push")
    assert ended.code == 0, ended.text
    assert "CHANGELOG" not in ended.stdout
    assert tip_of(logged.shop, BRANCH) == logged.tip

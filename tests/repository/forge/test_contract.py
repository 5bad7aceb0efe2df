"""What every forge promises, held over all there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agentos.documents.issue_filing import TrackerIssue
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.forge import (
    FORGES,
    Absent,
    Forge,
    Invalid,
    Proposal,
    find_package,
)
from agentos.repository.forge.asking.asker import Asker
from agentos.repository.forge.asking.record import read_asked, write_asked
from agentos.repository.forge.filing.sending import Sender
from agentos.repository.forge.pulls.requests import find_pulls, open_pull
from tests.forge import Hub, serve
from tests.forge.folder import FolderForge
from tests.forge.hub import TOKEN, moment

BRANCH = "agentos/42-export"
COMMIT = "c" * 40
ITEM = Item(Kind.LLD, "1", "")
QUESTIONS = ("Who pays @ada?", "When?\n# Now")


@dataclass(frozen=True)
class Subject:
    """A forge with an empty repository, and how to fill it."""

    forge: Forge
    put: Callable[..., None]
    """Adds an issue with the next number."""
    push: Callable[[], None]
    """Puts the branch there, beside another one to merge into."""
    close: Callable[[int], None]
    """Closes a pull request."""
    make: Callable[[str], object]
    """Creates another repository with this name."""
    comment: Callable[..., None]
    """Has somebody comment on an issue."""
    remark: Callable[..., None]
    """Has somebody review a pull request."""
    stranger: str
    """The forge's word for somebody who is not trusted."""


def _github(hub: Hub) -> Subject:
    repo = hub.repo("acme/shop")
    environ = {"GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN}
    package = find_package("github")
    repository = package.find_repository("acme/shop")
    assert repository is not None

    def put(title: str, body: str = "", *, trusted: bool = True, **facts: str) -> None:
        labels = tuple(filter(None, [facts.pop("label", "")]))
        association = "COLLABORATOR" if trusted else "CONTRIBUTOR"
        repo.add(title, body, labels=labels, association=association, **facts)  # type: ignore[arg-type]

    def close(number: int) -> None:
        for pull in repo.pulls:
            if pull["number"] == number:
                pull["state"] = "closed"

    def comment(number: int, body: str, *, role: str = "trusted") -> None:
        logins = {"robot": "ci[bot]", "stranger": "mallory", "trusted": "ada"}
        association = "NONE" if role == "stranger" else "MEMBER"
        repo.comment(number, body, login=logins[role], association=association)

    def remark(
        number: int,
        body: str,
        *,
        written: float,
        role: str = "trusted",
        place: tuple[str, int] = ("", 0),
    ) -> None:
        login = "mallory" if role == "stranger" else "ada"
        association = "NONE" if role == "stranger" else "MEMBER"
        path, line = place
        repo.review(
            number,
            body,
            login=login,
            association=association,
            written=moment(written),
            path=path,
            line=line,
        )

    return Subject(
        package.open_forge(repository, environ, lambda text: None),
        put,
        lambda: repo.branches.update({BRANCH: COMMIT, "main": "a" * 40}),
        close,
        hub.repo,
        comment,
        remark,
        "contributor",
    )


def _folder(root: Path) -> Subject:
    forge = FolderForge(root, "acme/shop")
    forge.clear()

    def put(title: str, body: str = "", *, trusted: bool = True, **facts: str) -> None:
        number = len(list(forge.list_created(0.0))) + 1
        forge.put_issue(
            number,
            title=title,
            body=body,
            labels=list(filter(None, [facts.get("label", "")])),
            milestone=facts.get("milestone", ""),
            author=facts.get("login", "ada"),
            role="developer" if trusted else "guest",
            is_open=facts.get("state", "open") == "open",
        )

    def comment(number: int, body: str, *, role: str = "trusted") -> None:
        authors = {"robot": "ci[bot]", "stranger": "mallory", "trusted": "ada"}
        roles = {"robot": "robot", "stranger": "guest", "trusted": "developer"}
        forge.put_comment(number, body, authors[role], roles[role])

    def remark(
        number: int,
        body: str,
        *,
        written: float,
        role: str = "trusted",
        place: tuple[str, int] = ("", 0),
    ) -> None:
        path, line = place
        forge.put_remark(
            number,
            body,
            author="mallory" if role == "stranger" else "ada",
            role="guest" if role == "stranger" else "developer",
            place=f"{path}, line {line}" if path else "",
            written=written,
        )

    return Subject(
        forge,
        put,
        lambda: forge.put_branch(BRANCH, COMMIT),
        lambda number: forge.close_pull(number, "closed"),
        lambda name: forge.at(name).clear(),
        comment,
        remark,
        "guest",
    )


@pytest.fixture(params=[*FORGES, "folder"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each kind of forge."""
    if request.param == "folder":
        yield _folder(tmp_path / "forge")
        return
    with serve() as hub:
        yield {"github": _github}[request.param](hub)


def propose(*, base: str = "main") -> Proposal:
    """Return a pull request to open."""
    return Proposal(BRANCH, base, "A title", "A body", is_draft=True)


def test_a_repository_is_described_and_one_that_is_missing_is_absent(
    subject: Subject,
) -> None:
    facts = subject.forge.describe()
    assert subject.forge.repository.name == "acme/shop"
    assert (facts.is_archived, facts.has_issues) == (False, True)
    assert facts.default_branch
    assert subject.forge.token_advice == ""
    with pytest.raises(Absent, match="acme/shup: not found"):
        subject.forge.at("acme/shup").describe()


def test_issues_are_listed_from_the_oldest_by_labels_and_milestone(
    subject: Subject,
) -> None:
    subject.put("One", label="Ready")
    subject.put("Two", milestone="June")
    subject.put("Three", label="ready", milestone="June")
    subject.put("Four", label="ready", state="closed")
    (june,) = subject.forge.list_milestones()
    assert june.title == "June"

    def listed(*labels: str, of_june: bool = False) -> list[str]:
        milestone = june if of_june else None
        issues = subject.forge.list_issues(labels, milestone)
        return [issue.title for issue in issues]

    assert listed() == ["One", "Two", "Three"]
    assert listed("ready") == ["One", "Three"]
    assert listed("READY", of_june=True) == ["Three"]
    assert listed("other") == []
    assert "Ready" in list(subject.forge.list_labels())


def test_an_issue_has_its_author_and_whether_that_one_is_trusted(
    subject: Subject,
) -> None:
    subject.put("Ours", "Text.", login="ada")
    subject.put("Theirs", trusted=False, login="mallory")
    ours = subject.forge.read_issue(1)
    assert ours is not None
    assert (ours.number, ours.title, ours.body) == (1, "Ours", "Text.")
    assert (ours.author.name, ours.author.is_trusted) == ("ada", True)
    assert (ours.is_open, ours.is_pull) == (True, False)
    (_, theirs) = subject.forge.list_issues()
    assert theirs.author.name == "mallory"
    assert theirs.author.role == subject.stranger
    assert not theirs.author.is_trusted
    assert subject.forge.read_issue(3) is None


def test_what_was_created_is_listed_from_the_newest_whatever_its_state(
    subject: Subject,
) -> None:
    start = time.time() - 60
    subject.put("One", state="closed")
    created = subject.forge.create_issue("Two", "Text.", ("spec",))
    assert (created.number, created.labels) == (2, ("spec",))
    assert created.url
    found = subject.forge.list_created(start)
    assert [issue.number for issue in found] == [2, 1]
    later = subject.forge.list_created(time.time() + 60)
    assert list(later) == []


def test_an_issue_without_a_title_is_invalid(subject: Subject) -> None:
    with pytest.raises(Invalid):
        subject.forge.create_issue("", "Text.", ())


def test_an_issue_within_the_limits_is_filed_once(
    subject: Subject, tmp_path: Path
) -> None:
    sender = Sender(subject.forge, ("spec",))
    issue = TrackerIssue("A long title " * 100, "Text.")
    path = tmp_path / "filings" / "repository" / "issue_1.json"
    filing, missing = sender.send(issue, path)
    assert (filing.reference, missing) == ("acme/shop#1", ())
    assert sender.send(issue, path) == (filing, ())
    (filed,) = subject.forge.list_issues()
    assert len(filed.title) == subject.forge.limits.title
    assert filing.comment in filed.body


def test_an_issue_whose_number_was_lost_is_found_again(
    subject: Subject, tmp_path: Path
) -> None:
    sender = Sender(subject.forge, ())
    issue = TrackerIssue("A title", "Text.")
    path = tmp_path / "filings" / "repository" / "issue_1.json"
    filing, _ = sender.send(issue, path)
    path.write_text(path.read_text("utf-8").replace('"number": 1', '"number": 0'))
    assert sender.send(issue, path)[0].number == filing.number
    assert len(list(subject.forge.list_issues())) == 1


def test_an_issue_that_was_sent_to_another_repository_before_is_found_there(
    subject: Subject, tmp_path: Path
) -> None:
    subject.make("acme/old")
    old = subject.forge.at("acme/old")
    issue = TrackerIssue("A title", "Text.")
    path = tmp_path / "filings" / "repository" / "issue_1.json"
    Sender(old, ()).send(issue, path)
    path.write_text(path.read_text("utf-8").replace('"number": 1', '"number": 0'))
    found, _ = Sender(subject.forge, ()).send(issue, path)
    assert found.reference == "acme/old#1"
    assert list(subject.forge.list_issues()) == []
    assert subject.forge.repository.name == "acme/shop"


def test_comments_are_listed_from_the_oldest_with_their_authors(
    subject: Subject,
) -> None:
    subject.put("One")
    subject.put("Two")
    assert list(subject.forge.list_comments(1)) == []
    for number in range(150):
        subject.comment(1, f"Comment {number}")
    subject.comment(2, "Yes.", role="stranger")
    subject.comment(2, "Done.", role="robot")
    found = list(subject.forge.list_comments(1))
    assert [each.body for each in found] == [f"Comment {n}" for n in range(150)]
    assert len({each.id for each in found}) == 150
    first = found[0]
    assert (first.author.name, first.author.is_trusted) == ("ada", True)
    assert first.date.count("-") == 2
    stranger, robot = subject.forge.list_comments(2)
    assert (stranger.author.is_trusted, stranger.author.is_bot) == (False, False)
    assert (robot.author.is_trusted and not robot.author.is_bot) is False
    assert robot.author.is_bot
    one = subject.forge.read_issue(1)
    assert one is not None
    assert one.comments == 150
    with pytest.raises(Absent):
        list(subject.forge.list_comments(3))


def test_a_comment_is_created_below_the_others(subject: Subject) -> None:
    subject.put("One")
    subject.comment(1, "First.")
    created = subject.forge.create_comment(1, "Second.")
    assert created.url
    assert list(subject.forge.list_comments(1))[-1] == created
    with pytest.raises(Invalid):
        subject.forge.create_comment(1, "")
    with pytest.raises(Absent):
        subject.forge.create_comment(2, "Text.")


def test_questions_are_asked_once_and_their_comment_is_found_again(
    subject: Subject, tmp_path: Path
) -> None:
    subject.put("One")
    path = tmp_path / "questions" / "repository" / "lld_1.json"
    asker = Asker(subject.forge)
    asked = asker.ask(ITEM, QUESTIONS, path)
    assert asker.ask(ITEM, QUESTIONS, path) == asked
    (comment,) = subject.forge.list_comments(1)
    assert (comment.is_ours, comment.id, comment.url) == (
        *(True, asked.comment, asked.url),
    )
    assert "1. Who pays @\u200bada?\n2. When? # Now\n" in comment.body
    # A kill between the comment and its record.
    write_asked(path, replace(asked, comment=0, url=""))
    assert read_asked(path) != asked
    again = asker.ask(ITEM, QUESTIONS, path)
    assert (again.comment, again.url) == (asked.comment, asked.url)
    other = asker.ask(ITEM, ("Where?",), path)
    assert other.comment > asked.comment
    assert len(list(subject.forge.list_comments(1))) == 2


def test_what_trusted_people_reply_is_the_answer(
    subject: Subject, tmp_path: Path
) -> None:
    subject.put("One")
    subject.comment(1, "Said before.")
    path = tmp_path / "questions" / "repository" / "lld_1.json"
    asker = Asker(subject.forge)
    asked = asker.ask(ITEM, QUESTIONS, path)
    subject.comment(1, "I do!", role="stranger")
    subject.comment(1, "Stale.", role="robot")
    subject.comment(1, " \n ")
    assert asker.find_replies(asked, QUESTIONS, path) is None
    subject.comment(1, "The club.\r\n## Answer\n")
    found = asker.find_replies(asked, QUESTIONS, path)
    assert found is not None
    assert found.answer.question == "Who pays @ada? When?\n# Now"
    assert found.answer.text == "The club.\n## Answer"
    assert found.answer.date.endswith(", ada on acme/shop#1")
    assert asker.find_replies(asked, ("Another?",), path) is None
    taken = replace(asked, taken=found.ids)
    write_asked(path, taken)
    assert asker.find_replies(taken, QUESTIONS, path) is None
    subject.comment(1, "In March.")
    more = asker.find_replies(taken, QUESTIONS, path)
    assert more is not None
    assert "The club." in more.answer.text
    assert more.answer.text.endswith("In March.")


def test_a_branch_has_its_commit_or_none(subject: Subject) -> None:
    assert subject.forge.find_commit(BRANCH) == ""
    subject.push()
    assert subject.forge.find_commit(BRANCH) == COMMIT


def test_a_pull_request_is_opened_once_and_again_after_it_was_closed(
    subject: Subject,
) -> None:
    forge = subject.forge
    subject.push()
    first, is_new = open_pull(forge, propose())
    assert (first.state, first.base, first.commit) == ("open", "main", COMMIT)
    assert (first.is_draft, is_new) == (True, True)
    assert open_pull(forge, propose()) == (first, False)
    with pytest.raises(Invalid):
        forge.create_pull(propose())
    subject.close(first.number)
    second, is_new = open_pull(forge, propose())
    assert is_new
    states = [(pull.number, pull.state) for pull in find_pulls(forge, BRANCH)]
    assert states == [(second.number, "open"), (first.number, "closed")]
    assert find_pulls(forge, "another") == ()


def test_a_branch_that_is_not_there_cannot_be_proposed(subject: Subject) -> None:
    with pytest.raises(Invalid, match="use --ready"):
        open_pull(subject.forge, propose())


def test_what_is_said_about_a_pull_request_is_listed_with_its_time_and_place(
    subject: Subject,
) -> None:
    subject.push()
    pull = subject.forge.create_pull(propose())
    assert list(subject.forge.list_pull_comments(pull.number)) == []
    subject.remark(pull.number, "Too slow.", written=1_800_000_300.0)
    subject.remark(
        pull.number,
        "Why 7?",
        written=1_800_000_100.0,
        place=("calc/op.py", 5),
    )
    subject.remark(pull.number, "Me too!", written=1_800_000_200.0, role="stranger")
    said = list(subject.forge.list_pull_comments(pull.number))
    assert [each.body for each in said] == ["Why 7?", "Me too!", "Too slow."]
    assert [each.author.is_trusted for each in said] == [True, False, True]
    assert [each.place for each in said] == ["calc/op.py, line 5", "", ""]
    assert said[0].written == 1_800_000_100.0
    with pytest.raises(Absent):
        list(subject.forge.list_pull_comments(99))

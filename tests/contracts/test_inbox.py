"""What every inbox promises, held over all there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentos.documents.issue import parse_issue
from agentos.github import Repository
from agentos.github.address import Server
from agentos.github.client import Client
from agentos.github.token import Token
from agentos.inbox import Inbox
from agentos.inbox.directory import FOLDERS, DirectoryInbox
from agentos.inbox.github import GitHubInbox, Wanted
from agentos.task import Task, Workflow
from tests.forge import Hub, serve
from tests.forge.hub import TOKEN
from tests.support import ISSUE

BODY = ISSUE.format(number=3).partition("\n")[2]
TITLE = "Export list 3 as CSV"


@dataclass(frozen=True)
class Subject:
    """An inbox of some kind, and how to put something into it."""

    name: str
    put: Callable[[int, str, str], None]
    """Adds an item with this number, title and body, or puts it in the place of one with the number."""
    open: Callable[[Workflow], Inbox]


@pytest.fixture(params=["directory", "github"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each kind of inbox, empty."""
    for folder in FOLDERS.values():
        (tmp_path / folder).mkdir(parents=True)
    if request.param == "directory":
        yield _directory(tmp_path)
        return
    pytest.importorskip("github")
    with serve() as hub:
        yield _github(tmp_path, hub)


def _directory(repository: Path) -> Subject:
    def put(number: int, title: str, body: str) -> None:
        text = f"# {number} - {title}\n\n{body}"
        (repository / FOLDERS[Workflow.LLD] / f"{number}.md").write_text(text, "utf-8")

    return Subject("directory", put, lambda workflow: DirectoryInbox(repository, workflow))


def _github(repository: Path, hub: Hub) -> Subject:
    repo = hub.repo("acme/shop")

    def put(number: int, title: str, body: str) -> None:
        while len(repo.issues) < number:
            repo.add("closed long ago", state="closed")
        repo.issues[number - 1] |= {"title": title, "body": body, "state": "open"}

    def open(workflow: Workflow) -> Inbox:
        client = Client(Server(hub.url, "127.0.0.1"), Token(TOKEN, "a test"), lambda text: None)
        return GitHubInbox(client, Repository("acme", "shop"), Wanted(), repository, workflow)

    return Subject("github", put, open)


def test_items_are_listed_in_the_order_of_their_numbers(subject: Subject) -> None:
    for number in (10, 2, 33, 1):
        subject.put(number, TITLE, BODY)
    collected = subject.open(Workflow.LLD).collect()
    assert [task.item for task in collected.tasks] == ["1", "2", "10", "33"]
    assert {task.workflow for task in collected.tasks} == {Workflow.LLD}
    assert collected.rejects == ()
    assert len({task.source for task in collected.tasks}) == 4


def test_an_empty_inbox_is_no_error(subject: Subject) -> None:
    assert subject.open(Workflow.LLD).collect().tasks == ()


def test_the_documents_of_the_product_read_what_an_inbox_gives(subject: Subject) -> None:
    subject.put(3, TITLE, BODY)
    inbox = subject.open(Workflow.LLD)
    (task,) = inbox.collect().tasks
    source = inbox.load(task)
    assert source.problem == ""
    issue = parse_issue(source.text)
    assert (issue.number, issue.title, issue.defects) == (3, TITLE, ())
    assert len(issue.criteria) == 3


def test_the_hash_is_of_the_text_and_changes_with_it(subject: Subject) -> None:
    subject.put(3, TITLE, BODY)
    digests = []
    for body in (BODY, BODY, BODY + "One more line.\n"):
        subject.put(3, TITLE, body)
        inbox = subject.open(Workflow.LLD)
        (task,) = inbox.collect().tasks
        assert inbox.digest(task) == inbox.load(task).digest
        digests.append(inbox.digest(task))
    assert digests[0] == digests[1] != digests[2]
    assert all(len(digest) == 64 for digest in digests)


def test_an_item_that_is_not_there_is_a_problem_in_words_and_has_no_hash(subject: Subject) -> None:
    inbox = subject.open(Workflow.LLD)
    inbox.collect()
    missing = Task(Workflow.LLD, "77", "docs/issues/77.md")
    source = inbox.load(missing)
    assert (source.text, source.digest) == ("", "")
    assert "77" in source.problem
    assert inbox.digest(missing) == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [("x" * 2_100_000, "2.1 MB"), ("line\n" * 20_100, "20,000 lines")],
    ids=["too big", "too many lines"],
)
def test_an_input_that_cannot_be_used_is_refused_in_words(subject: Subject, body: str, words: str) -> None:
    subject.put(3, TITLE, body)
    inbox = subject.open(Workflow.LLD)
    (task,) = inbox.collect().tasks
    source = inbox.load(task)
    assert source.text == ""
    assert words in source.problem


def test_a_brief_whose_issue_would_lie_beside_another_of_its_number_is_refused(
    subject: Subject, tmp_path: Path
) -> None:
    if subject.name == "directory":
        (tmp_path / FOLDERS[Workflow.ISSUE] / "3.md").write_text("# 3 - Remind\n\nPeople forget.\n", "utf-8")
    else:
        subject.put(3, "Remind", "People forget.")
    (tmp_path / FOLDERS[Workflow.LLD] / "3-something-else.md").write_text("# 3 - Other\n", "utf-8")
    collected = subject.open(Workflow.ISSUE).collect()
    assert collected.tasks == ()
    (reject,) = collected.rejects
    assert "3-something-else.md" in reject.reason

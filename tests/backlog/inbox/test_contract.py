"""What every inbox promises, held over all there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentos.backlog.inbox import Inbox
from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.backlog.inbox.forge import ISSUES_LIMIT, ForgeInbox, Wanted
from agentos.documents.issue import parse_issue
from agentos.errors import UsageError
from agentos.item import Item
from agentos.kinds import BUILT_IN_KINDS, Kind
from agentos.repository.forge import Author, ForgeIssue, ForgeRepository, Milestone
from agentos.repository.forge.github.address import Server
from agentos.repository.forge.github.forge import GitHub
from agentos.repository.forge.github.token import Token
from tests.forge import Hub, serve
from tests.forge.folder import FolderForge
from tests.forge.hub import TOKEN
from tests.support import ISSUE

BODY = ISSUE.format(number=3).partition("\n")[2]
TITLE = "Export list 3 as CSV"


@dataclass(frozen=True)
class Subject:
    """An inbox of some kind, and how to put something into it."""

    name: str
    put: Callable[[int, str, str], None]
    """Adds an item with this number, title and body, or puts it in the place of one
    with the number.
    """
    open: Callable[[Kind], Inbox]


@pytest.fixture(params=["directory", "github", "folder"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each kind of inbox, empty."""
    for kind in BUILT_IN_KINDS:
        (tmp_path / kind.record.inputs).mkdir(parents=True)
    if request.param == "directory":
        yield _directory(tmp_path)
        return
    if request.param == "folder":
        yield _folder(tmp_path, tmp_path / "forge")
        return
    with serve() as hub:
        yield _github(tmp_path, hub)


def _directory(repository: Path) -> Subject:
    def put(number: int, title: str, body: str) -> None:
        text = f"# {number} - {title}\n\n{body}"
        (repository / Kind.LLD.record.inputs / f"{number}.md").write_text(text, "utf-8")

    return Subject(
        "directory", put, lambda workflow: DirectoryInbox(repository, workflow)
    )


def _github(repository: Path, hub: Hub) -> Subject:
    repo = hub.repo("acme/shop")

    def put(number: int, title: str, body: str) -> None:
        while len(repo.issues) < number:
            repo.add("closed long ago", state="closed")
        repo.issues[number - 1] |= {"title": title, "body": body, "state": "open"}

    def open(workflow: Kind) -> Inbox:
        place = ForgeRepository("github", "acme/shop")
        server, token = Server(hub.url, "127.0.0.1"), Token(TOKEN, "a test")
        forge = GitHub(place, server, token, lambda text: None)
        return ForgeInbox(forge, Wanted(), repository, workflow)

    return Subject("github", put, open)


def _folder(repository: Path, root: Path) -> Subject:
    forge = FolderForge(root, "acme/shop")
    forge.clear()

    def put(number: int, title: str, body: str) -> None:
        forge.put_issue(number, title=title, body=body)

    def open(workflow: Kind) -> Inbox:
        return ForgeInbox(forge, Wanted(), repository, workflow)

    return Subject("folder", put, open)


def test_items_are_listed_in_the_order_of_their_numbers(subject: Subject) -> None:
    for number in (10, 2, 33, 1):
        subject.put(number, TITLE, BODY)
    collected = subject.open(Kind.LLD).collect()
    assert [item.id for item in collected.items] == ["1", "2", "10", "33"]
    assert {item.kind for item in collected.items} == {Kind.LLD}
    assert collected.rejects == ()
    assert len({item.source for item in collected.items}) == 4


def test_an_empty_inbox_is_no_error(subject: Subject) -> None:
    assert subject.open(Kind.LLD).collect().items == ()


def test_the_documents_of_the_product_read_what_an_inbox_gives(
    subject: Subject,
) -> None:
    subject.put(3, TITLE, BODY)
    inbox = subject.open(Kind.LLD)
    (item,) = inbox.collect().items
    source = inbox.load(item)
    assert source.problem == ""
    issue = parse_issue(source.text)
    assert (issue.number, issue.title) == (3, TITLE)
    assert len(issue.criteria) == 3


def test_the_hash_is_of_the_text_and_changes_with_it(subject: Subject) -> None:
    subject.put(3, TITLE, BODY)
    digests = []
    for body in (BODY, BODY, BODY + "One more line.\n"):
        subject.put(3, TITLE, body)
        inbox = subject.open(Kind.LLD)
        (item,) = inbox.collect().items
        assert inbox.digest(item) == inbox.load(item).digest
        digests.append(inbox.digest(item))
    assert digests[0] == digests[1] != digests[2]
    assert all(len(digest) == 64 for digest in digests)


def test_an_item_that_is_not_there_is_a_problem_in_words_and_has_no_hash(
    subject: Subject,
) -> None:
    inbox = subject.open(Kind.LLD)
    inbox.collect()
    missing = Item(Kind.LLD, "77", "docs/issues/77.md")
    source = inbox.load(missing)
    assert (source.text, source.digest) == ("", "")
    assert "77" in source.problem
    assert inbox.digest(missing) == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [("x" * 1_100_000, "1.1 MB"), ("line\n" * 20_100, "20,000 lines")],
    ids=["too big", "too many lines"],
)
def test_an_input_that_cannot_be_used_is_refused_in_words(
    subject: Subject, body: str, words: str
) -> None:
    subject.put(3, TITLE, body)
    inbox = subject.open(Kind.LLD)
    (item,) = inbox.collect().items
    source = inbox.load(item)
    assert source.text == ""
    assert words in source.problem


def test_a_brief_whose_issue_would_lie_beside_another_of_its_number_is_refused(
    subject: Subject, tmp_path: Path
) -> None:
    if subject.name == "directory":
        (tmp_path / Kind.ISSUE.record.inputs / "3.md").write_text(
            "# 3 - Remind\n\nPeople forget.\n", "utf-8"
        )
    else:
        subject.put(3, "Remind", "People forget.")
    (tmp_path / Kind.LLD.record.inputs / "3-something-else.md").write_text(
        "# 3 - Other\n", "utf-8"
    )
    collected = subject.open(Kind.ISSUE).collect()
    assert collected.items == ()
    (reject,) = collected.rejects
    assert "3-something-else.md" in reject.reason


class CrowdedForge(FolderForge):
    """A forge on which a stranger opens one issue after the other."""

    listed = 0

    def list_issues(
        self,
        labels: tuple[str, ...] = (),
        milestone: Milestone | None = None,
    ) -> Iterator[ForgeIssue]:
        del labels, milestone
        stranger = Author("mallory", "none", is_trusted=False)
        while True:
            self.listed += 1
            yield ForgeIssue(self.listed, "Spam", "", stranger, (), "", is_open=True)


def test_issues_of_strangers_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    forge = CrowdedForge(tmp_path, "acme/shop")
    forge.clear()
    inbox = ForgeInbox(forge, Wanted(), tmp_path, Kind.LLD)
    with pytest.raises(UsageError, match="too many open issues for one run; name a"):
        inbox.collect()
    assert forge.listed == ISSUES_LIMIT + 1

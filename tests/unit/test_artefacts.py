"""Publishing is all or nothing, wherever it is cut off."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentos.artefacts import Artefacts, Publication, Targets, stage
from agentos.errors import BadInput
from agentos.task import Outcome, State

TARGETS = Targets("docs/lineage/active/7-lld", "docs/lld/active/LLD-007.md")
ARTEFACTS = Artefacts({"001-issue.md": "issue\n", "002-final.md": "final\n"}, "design\n")


@pytest.fixture
def staged(tmp_path: Path) -> Publication:
    """A complete staging folder and an empty repository."""
    repository = tmp_path / "repo"
    repository.mkdir()
    stage(tmp_path / "staging", ARTEFACTS, Outcome(State.APPROVED), "digest")
    publication = Publication.find(tmp_path / "staging", repository, TARGETS)
    assert publication is not None
    return publication


def contents(repository: Path) -> dict[str, str]:
    return {p.relative_to(repository).as_posix(): p.read_text() for p in repository.rglob("*") if p.is_file()}


WHOLE = {
    "docs/lineage/active/7-lld/001-issue.md": "issue\n",
    "docs/lineage/active/7-lld/002-final.md": "final\n",
    "docs/lld/active/LLD-007.md": "design\n",
}


def test_everything_becomes_visible(staged: Publication) -> None:
    staged.publish()
    assert contents(staged.repository) == WHOLE
    assert (staged.repository / "docs/lld/active/LLD-007.md").stat().st_mode & 0o777 == 0o644


def test_publishing_again_changes_nothing(staged: Publication) -> None:
    staged.publish()
    staged.publish()
    assert contents(staged.repository) == WHOLE


def test_a_process_killed_after_any_system_call_leaves_nothing_or_everything_after_recovery(tmp_path: Path) -> None:
    """Count the file operations of a publication, then die after each of them in a process of its own."""
    cut = 0
    while True:
        cut += 1
        base = tmp_path / str(cut)
        repository = base / "repo"
        repository.mkdir(parents=True)
        (repository / "docs/lld/active").mkdir(parents=True)
        (repository / "docs/lld/active/LLD-007.md").write_text("older\n")
        stage(base / "staging", ARTEFACTS, Outcome(State.APPROVED), "digest")
        pid = os.fork()
        if pid == 0:
            _publish_and_die_after(cut, base)
        _, status = os.waitpid(pid, 0)
        publication = Publication.find(base / "staging", repository, TARGETS)
        assert publication is not None
        if publication.is_committed:
            publication.publish()
            seen = contents(repository)
            assert seen.pop("docs/lineage/superseded/7-lld-1/LLD-007.md") == "older\n"
            assert seen == WHOLE
        else:
            publication.abandon()
            assert contents(repository) == {"docs/lld/active/LLD-007.md": "older\n"}
        if os.waitstatus_to_exitcode(status) == 0:
            break
    assert cut > 10


def _publish_and_die_after(cut: int, base: Path) -> None:
    import sys

    events = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}
    seen = 0

    def count(event: str, _: object) -> None:
        nonlocal seen
        if event in events:
            seen += 1
            if seen >= cut:
                os._exit(9)

    publication = Publication.find(base / "staging", base / "repo", TARGETS)
    sys.addaudithook(count)
    assert publication is not None
    publication.publish()
    os._exit(0)


def test_what_stood_there_before_is_kept(staged: Publication) -> None:
    folder = staged.repository / "docs/lineage/active/7-lld"
    folder.mkdir(parents=True)
    (folder / "001-issue.md").write_text("old issue\n")
    target = staged.repository / "docs/lld/active/LLD-007.md"
    target.parent.mkdir(parents=True)
    target.write_text("old design\n")
    staged.publish()
    seen = contents(staged.repository)
    assert seen["docs/lineage/superseded/7-lld-1/001-issue.md"] == "old issue\n"
    assert seen["docs/lineage/superseded/7-lld-1/LLD-007.md"] == "old design\n"
    assert seen["docs/lld/active/LLD-007.md"] == "design\n"


def test_a_link_in_the_place_of_the_document_is_replaced_and_not_followed(staged: Publication, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    target = staged.repository / "docs/lld/active/LLD-007.md"
    target.parent.mkdir(parents=True)
    target.symlink_to(victim)
    staged.publish()
    assert victim.read_text() == "precious\n"
    assert target.read_text() == "design\n"
    assert not target.is_symlink()


def test_a_folder_that_leads_outside_is_refused(staged: Publication, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (staged.repository / "docs").symlink_to(outside)
    with pytest.raises(BadInput, match="leads outside"):
        staged.publish()
    assert list(outside.iterdir()) == []


def test_a_target_that_appeared_after_the_commit_is_kept_too(staged: Publication) -> None:
    staged._prepare()
    (staged.staging / "committed").write_text(staged._free_name())
    folder = staged.repository / "docs/lineage/active/7-lld"
    folder.mkdir(parents=True)
    (folder / "001-issue.md").write_text("from a checkout\n")
    staged.publish()
    seen = contents(staged.repository)
    assert seen.pop("docs/lineage/superseded/7-lld-1/001-issue.md") == "from a checkout\n"
    assert seen == WHOLE


def test_a_design_of_ours_goes_when_it_is_no_longer_approved_and_one_by_hand_stays(tmp_path: Path) -> None:
    for text, stays in (("<!-- agentos: workflow=lld/1 -->\n", False), ("by hand\n", True)):
        repository = tmp_path / str(stays)
        document = repository / TARGETS.document
        document.parent.mkdir(parents=True)
        document.write_text(text)
        stage(tmp_path / "staging", Artefacts({"001-issue.md": "x"}), Outcome(State.NEEDS_REVISION), "digest")
        publication = Publication.find(tmp_path / "staging", repository, TARGETS)
        assert publication is not None
        publication.publish()
        assert document.exists() is stays


@pytest.mark.parametrize("manifest", ["{}", "[]", "", '{"outcome": {}, "digest": 1, "nonce": "../x"}'])
def test_a_manifest_that_makes_no_sense_is_no_publication(staged: Publication, manifest: str) -> None:
    (staged.staging / "manifest.json").write_text(manifest)
    assert Publication.find(staged.staging, staged.repository, TARGETS) is None

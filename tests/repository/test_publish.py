"""Publishing is all or nothing, wherever it is cut off."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agentos.errors import BadInput
from agentos.repository.publish import Amendment, Artifacts, Publication

ARTEFACTS = Artifacts(
    [{"001-issue.md": "issue\n", "002-final.md": "final\n"}], "design\n"
)
FOLDER, DOCUMENT = "docs/lineage/active/7-lld", "docs/lld/active/LLD-007.md"
WHOLE = {
    "docs/lineage/active/7-lld/001-issue.md": "issue\n",
    "docs/lineage/active/7-lld/002-final.md": "final\n",
    "docs/lld/active/LLD-007.md": "design\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


@pytest.fixture
def publication(repository: Path) -> Publication:
    return publication_in(repository)


def publication_in(repository: Path) -> Publication:
    return Publication(str(repository), (FOLDER,), DOCUMENT, "0123456789abcdef")


def publish(publication: Publication, artefacts: Artifacts = ARTEFACTS) -> None:
    """Do all that the two sides do, without the record between."""
    publication.prepare(artefacts)
    publication.reveal(publication.result, publication.name_for_superseded())


def contents(repository: Path) -> dict[str, str]:
    return {
        p.relative_to(repository).as_posix(): p.read_text()
        for p in repository.rglob("*")
        if p.is_file()
    }


def test_everything_becomes_visible(publication: Publication, repository: Path) -> None:
    publish(publication)
    assert contents(repository) == WHOLE
    assert (repository / DOCUMENT).stat().st_mode & 0o777 == 0o644
    assert not publication.is_prepared


def test_revealing_again_changes_nothing(
    publication: Publication, repository: Path
) -> None:
    publish(publication)
    publication.reveal(DOCUMENT, "")
    assert contents(repository) == WHOLE


def test_nothing_is_visible_before_it_is_revealed(
    publication: Publication, repository: Path
) -> None:
    publication.prepare(ARTEFACTS)
    assert all(
        name.endswith(".tmp")
        for path in contents(repository)
        for name in Path(path).parts[3:4]
    )
    publication.abandon()
    assert contents(repository) == {}


def test_a_second_attempt_leaves_nothing_of_the_first(
    publication: Publication, repository: Path
) -> None:
    publication.prepare(Artifacts([{"009-other.md": "other\n"}], "other\n"))
    publish(publication, Artifacts([{"001-issue.md": "issue\n"}]))
    assert contents(repository) == {"docs/lineage/active/7-lld/001-issue.md": "issue\n"}


@pytest.mark.slow
def test_a_process_killed_after_any_system_call_leaves_nothing_or_everything_after_recovery(
    tmp_path: Path,
) -> None:
    """Count the file operations of a publication, then die after each of them in a
    process of its own.
    """
    cut = 0
    while True:
        cut += 1
        repository, record = (
            tmp_path / str(cut) / "repo",
            tmp_path / str(cut) / "record",
        )
        (repository / "docs/lld/active").mkdir(parents=True)
        (repository / DOCUMENT).write_text("older\n")
        pid = os.fork()
        if pid == 0:
            _publish_and_die_after(cut, repository, record)
        _, status = os.waitpid(pid, 0)
        publication = publication_in(repository)
        if record.exists() and record.read_text():
            publication.reveal(DOCUMENT, record.read_text())
            seen = contents(repository)
            assert seen.pop("docs/lineage/superseded/7-lld-1/LLD-007.md") == "older\n"
            assert seen == WHOLE
        else:
            publication.abandon()
            assert contents(repository) == {DOCUMENT: "older\n"}
        if os.waitstatus_to_exitcode(status) == 0:
            break
    assert cut > 10


def _publish_and_die_after(cut: int, repository: Path, record: Path) -> None:
    _die_after(cut)
    publication = publication_in(repository)
    publication.prepare(ARTEFACTS)
    superseded = publication.name_for_superseded()
    record.write_text(superseded)
    publication.reveal(DOCUMENT, superseded)
    os._exit(0)


def test_what_stood_there_before_is_kept(
    publication: Publication, repository: Path
) -> None:
    folder, target = repository / FOLDER, repository / DOCUMENT
    folder.mkdir(parents=True)
    (folder / "001-issue.md").write_text("old issue\n")
    target.parent.mkdir(parents=True)
    target.write_text("old design\n")
    publish(publication)
    publish(publication)
    seen = contents(repository)
    assert seen["docs/lineage/superseded/7-lld-1/001-issue.md"] == "old issue\n"
    assert seen["docs/lineage/superseded/7-lld-1/LLD-007.md"] == "old design\n"
    assert seen["docs/lineage/superseded/7-lld-2/001-issue.md"] == "issue\n"
    assert seen["docs/lld/active/LLD-007.md"] == "design\n"


def test_a_link_in_the_place_of_the_document_is_replaced_and_not_followed(
    publication: Publication, repository: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    target = repository / DOCUMENT
    target.parent.mkdir(parents=True)
    target.symlink_to(victim)
    publish(publication)
    assert victim.read_text() == "precious\n"
    assert target.read_text() == "design\n"
    assert not target.is_symlink()


def test_links_planted_at_the_hidden_names_are_removed_and_not_followed(
    publication: Publication, repository: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("precious\n")
    for path in (FOLDER, DOCUMENT):
        planted = Path(publication._hidden(path))
        planted.parent.mkdir(parents=True)
        planted.symlink_to(victim)
    publish(publication)
    assert contents(repository) == WHOLE
    assert contents(victim) == {"precious": "precious\n"}


def test_a_folder_that_leads_outside_is_refused(
    publication: Publication, repository: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "docs").symlink_to(outside)
    with pytest.raises(BadInput, match="leads outside"):
        publish(publication)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        "../../../../../outside.txt",
        "/outside.txt",
        "a/b",
        "..",
        "",
        "a\0b",
        "a\nb",
        "\udcff",
        "x" * 300,
    ],
    ids=ascii,
)
def test_a_name_that_leads_elsewhere_is_refused_in_one_line(
    publication: Publication, repository: Path, tmp_path: Path, name: str
) -> None:
    publication.prepare(ARTEFACTS)
    with pytest.raises(BadInput, match="the results have a file") as caught:
        publication.prepare(Artifacts([{"001-issue.md": "x", name: "x"}], "design\n"))
    assert str(caught.value).isprintable()
    publication.abandon()
    assert contents(tmp_path) == {}


def test_results_for_other_places_are_refused_in_one_line(repository: Path) -> None:
    publication = publication_in(repository)
    with pytest.raises(BadInput, match="for 2 folders, and the item has 1"):
        publication.prepare(Artifacts([{}, {}], "design\n"))
    without_document = Publication(str(repository), (FOLDER,), "", "0123456789abcdef")
    with pytest.raises(BadInput, match="has no place for one"):
        without_document.prepare(Artifacts([{}], "design\n"))
    assert contents(repository.parent) == {}


def test_a_target_that_appeared_after_the_commit_is_kept_too(
    publication: Publication, repository: Path
) -> None:
    publication.prepare(ARTEFACTS)
    superseded = publication.name_for_superseded()
    folder = repository / FOLDER
    folder.mkdir(parents=True)
    (folder / "001-issue.md").write_text("from a checkout\n")
    publication.reveal(DOCUMENT, superseded)
    seen = contents(repository)
    assert (
        seen.pop("docs/lineage/superseded/7-lld-1/001-issue.md") == "from a checkout\n"
    )
    assert seen == WHOLE


def test_a_link_among_the_old_documents_is_not_followed(
    publication: Publication, repository: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    document = repository / DOCUMENT
    document.parent.mkdir(parents=True)
    document.write_text("<!-- agentos: workflow=lld/1 -->\n")
    (repository / "docs/lineage").mkdir()
    (repository / "docs/lineage/superseded").symlink_to(outside)
    with pytest.raises(BadInput, match="leads outside"):
        publish(publication, Artifacts([{"001-issue.md": "x"}]))
    assert list(outside.iterdir()) == []
    assert document.exists()


def test_a_design_of_ours_goes_when_it_is_no_longer_approved_and_one_by_hand_stays(
    tmp_path: Path,
) -> None:
    for text, stays in (
        ("<!-- agentos: workflow=lld/1 -->\n", False),
        ("by hand\n", True),
    ):
        repository = tmp_path / str(stays)
        document = repository / DOCUMENT
        document.parent.mkdir(parents=True)
        document.write_text(text)
        publish(publication_in(repository), Artifacts([{"001-issue.md": "x"}]))
        assert document.exists() is stays


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told_by_its_own_name(
    publication: Publication, repository: Path
) -> None:
    folder = repository / "docs/lineage/active"
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    with pytest.raises(OSError, match="cannot be written") as caught:
        publish(publication)
    assert caught.value.filename == str(folder)


LINEAGE = "docs/lineage/active/7-lld"
REPORTS = "docs/reports/7"
AMENDMENT = Amendment(
    {"005-draft.md": "draft\n", "findings.json": "{}\n"}, "revised\n", "was"
)
AMENDED = {
    "docs/lineage/active/7-lld/001-issue.md": "issue\n",
    "docs/lineage/active/7-lld/005-draft.md": "draft\n",
    "docs/lineage/active/7-lld/findings.json": "{}\n",
    "docs/lld/active/LLD-007.md": "revised\n",
    "docs/lineage/superseded/7-lld-1/LLD-007.md": "older\n",
}


def amending(repository: Path) -> Publication:
    """Return the places of an item that is made from a design."""
    return Publication(
        str(repository),
        (REPORTS,),
        "",
        "0123456789abcdef",
        amended_folder=LINEAGE,
        amended_document=DOCUMENT,
    )


def fill(repository: Path) -> None:
    """Write the design and its lineage as they are before."""
    for name, text in {
        f"{LINEAGE}/001-issue.md": "issue\n",
        f"{LINEAGE}/findings.json": "[]\n",
        DOCUMENT: "older\n",
    }.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_an_amended_document_is_replaced_and_kept_and_its_lineage_grows(
    repository: Path,
) -> None:
    fill(repository)
    publication = amending(repository)
    publication.prepare(Artifacts((), amendment=AMENDMENT))
    assert publication.result == DOCUMENT
    publish(publication, Artifacts((), amendment=AMENDMENT))
    assert contents(repository) == AMENDED
    publication.reveal(DOCUMENT, "")
    assert contents(repository) == AMENDED


def test_results_may_come_with_additions_to_the_lineage_of_the_design(
    repository: Path,
) -> None:
    fill(repository)
    additions = Amendment({"findings.json": "{}\n"})
    results = Artifacts([{"report.md": "report\n"}], amendment=additions)
    publication = amending(repository)
    publication.prepare(results)
    assert publication.result == REPORTS
    publish(publication, results)
    assert contents(repository) == {
        f"{LINEAGE}/001-issue.md": "issue\n",
        f"{LINEAGE}/findings.json": "{}\n",
        f"{REPORTS}/report.md": "report\n",
        DOCUMENT: "older\n",
    }


@pytest.mark.parametrize("name", ["../x.md", "a/b.md", "", "..", ".hidden/x"])
def test_additions_with_names_that_lead_elsewhere_are_refused(
    repository: Path, name: str
) -> None:
    additions = Artifacts((), amendment=Amendment({name: "x"}))
    with pytest.raises(BadInput):
        amending(repository).prepare(additions)
    assert contents(repository) == {}


def test_an_item_that_is_made_from_no_document_amends_none(
    publication: Publication,
) -> None:
    with pytest.raises(BadInput, match="made from none"):
        publication.prepare(Artifacts((), amendment=AMENDMENT))


@pytest.mark.slow
def test_an_amendment_that_is_cut_off_anywhere_is_whole_or_not_there_after_recovery(
    tmp_path: Path,
) -> None:
    cut = 0
    while True:
        cut += 1
        folder = tmp_path / str(cut)
        repository, record = folder / "repo", folder / "record"
        fill(repository)
        before = contents(repository)
        pid = os.fork()
        if pid == 0:
            _amend_and_die_after(cut, repository, record)
        _, status = os.waitpid(pid, 0)
        publication = amending(repository)
        if record.exists() and record.read_text():
            publication.reveal(DOCUMENT, "")
            assert contents(repository) == AMENDED
        else:
            publication.abandon()
            assert contents(repository) == before
        assert not publication.is_prepared
        if os.waitstatus_to_exitcode(status) == 0:
            break
    assert cut > 10


def _amend_and_die_after(cut: int, repository: Path, record: Path) -> None:
    _die_after(cut)
    publication = amending(repository)
    publication.prepare(Artifacts((), amendment=AMENDMENT))
    record.write_text("recorded")
    publication.reveal(DOCUMENT, "")
    os._exit(0)


def _die_after(cut: int) -> None:
    """End this process without a word at a file operation."""
    events = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}
    seen = 0

    def count(event: str, _: object) -> None:
        nonlocal seen
        if event in events:
            seen += 1
            if seen >= cut:
                os._exit(9)

    sys.addaudithook(count)

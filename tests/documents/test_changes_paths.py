"""Paths that lead astray are refused, and a design decides about the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.changes import (
    Change,
    Deletion,
    Judgment,
    WholeFile,
    check_path,
    is_sensitive,
    is_test,
    judge,
)
from tests.faults.hostile_paths import ESCAPES, MALFORMED, SENSITIVE, WINDOWS

ORDINARY = (
    *(
        "a.py",
        "src/pkg/__init__.py",
        "docs/use.md",
        "src/ä/öü.py",
        "日本/語.py",
        "app/[id]/page.tsx",
        "a b/c d.txt",
    ),
    *(
        ".gitignore",
        ".gitmodules.bak",
        ".github-notes.md",
        "src/gitlab.py",
        "src/console.py",
        "src/nullable.py",
        "a.b.c",
        "src/~x",
    ),
    *("src/setup_tools.py", "lib/auxiliary.c", "é.py", "x" * 255),
)


@pytest.mark.parametrize("path", [*ESCAPES, *WINDOWS, *MALFORMED])
def test_a_hostile_path_is_refused(path: str) -> None:
    assert check_path(path)


@pytest.mark.parametrize("path", [".gitmodules", "lib/.GitModules", "gitmod~1"])
def test_submodules_are_never_open_also_if_a_design_declares_them(path: str) -> None:
    change = WholeFile(path=path, line=1, text="x")
    judged = judge([change], declared={path: "Add"})
    assert judged.allowed == ()
    assert judged.refusals


@pytest.mark.parametrize("path", ORDINARY)
def test_an_ordinary_path_is_not(path: str) -> None:
    assert check_path(path) == ""
    assert not is_sensitive(path)


@pytest.mark.parametrize("path", SENSITIVE)
def test_a_file_that_runs_by_itself_is_sensitive(path: str) -> None:
    assert is_sensitive(path)
    assert is_sensitive(path.upper())


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".GIT/hooks/x",
        "a/.git/config",
        ".git",
        "git~1/x",
        ".g\u200cit/x",
        "\uff0egit/x",
    ],
)
def test_the_folder_of_git_is_never_open(path: str) -> None:
    assert check_path(path)
    assert is_sensitive(path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "random.py",
            "src/json.py",
            "json/__init__.py",
            "src/hmac/__init__.py",
            "iniconfig.py",
        ),
        *(
            "packaging/__init__.py",
            "pytest.py",
            "_pytest/x.py",
            "src/coverage/__init__.py",
            "agentos_guard.py",
        ),
    ],
)
def test_a_module_that_hides_the_runner_or_the_library_is_sensitive(path: str) -> None:
    assert is_sensitive(path)
    assert not is_sensitive(f"src/mine/{path}")


def test_a_folder_with_the_name_of_a_part_of_the_runner_is_nobodys_rival() -> None:
    assert not is_sensitive("packaging/build.sh")
    assert not is_sensitive("packaging/deb.py")


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "test_a.py",
        "a_test.py",
        "src/Tests/x.json",
        "a.test.ts",
        "pkg/conftest.py",
    ],
)
def test_tests_are_known_by_their_names(path: str) -> None:
    assert is_test(path)
    assert not is_test("src/contest.py")


def verdict(
    change: Change,
    declared: dict[str, str] | None = None,
    protected: tuple[str, ...] = (),
) -> str:
    """Return how one change is judged."""
    judged = judge([change], declared=declared or {}, protected=protected)
    assert isinstance(judged, Judgment)
    if judged.refusals:
        assert not judged.allowed
        return judged.refusals[0].text
    assert judged.allowed == (change,)
    return "extra" if judged.extras else "allowed"


def test_what_is_declared_is_allowed_and_more_needs_a_reason() -> None:
    declared = {"src/a.py": "Modify", "./docs\\b.md": "Add"}
    assert verdict(WholeFile("src/a.py", ""), declared) == "allowed"
    assert verdict(WholeFile("docs/b.md", ""), declared) == "allowed"
    assert verdict(WholeFile("src/c.py", "", reason="a helper"), declared) == "extra"
    said = verdict(WholeFile("src/c.py", "", line=4), declared)
    assert said.startswith("Line 4: `src/c.py` is not declared in the design")
    assert "Reason:" in said
    assert "not declared" in verdict(WholeFile("src/A.py", ""), declared)


def test_a_declared_folder_opens_what_is_ordinary_in_it() -> None:
    declared = {"src/new/": "Add"}
    assert verdict(WholeFile("src/new/a.py", ""), declared) == "allowed"
    assert "only the design" in verdict(
        WholeFile("src/new/setup.py", "", reason="x"), declared
    )
    assert "read-only" in verdict(
        WholeFile("src/new/test_a.py", "", reason="x"), declared
    )


def test_a_sensitive_file_is_open_only_where_it_is_declared() -> None:
    for path in SENSITIVE:
        if check_path(path):
            assert verdict(
                WholeFile(path, "", reason="x"), {path: "Modify"}
            ).startswith("Line 0:")
            continue
        assert "only the design" in verdict(WholeFile(path, "", reason="x")) or is_test(
            path
        )
        assert verdict(WholeFile(path, ""), {path: "Modify"}) == "allowed"


def test_tests_are_read_only_also_where_they_are_declared() -> None:
    declared = {"tests/test_a.py": "Add", "tests/data.json": "Add"}
    assert "read-only" in verdict(
        WholeFile("tests/test_a.py", ""), declared, ("tests/test_a.py",)
    )
    assert "read-only" in verdict(
        WholeFile("Tests/TEST_A.py", "", reason="x"), declared, ("tests",)
    )
    assert "read-only" in verdict(
        Deletion("tests/test_a.py"), {"tests/test_a.py": "Delete"}, ("tests/",)
    )
    assert "read-only" in verdict(
        WholeFile("tests/test_b.py", "", reason="x"), {"a.py": "Add"}
    )
    assert "write the tests to tests/test_a.py" in verdict(
        WholeFile("tests/test_b.py", "", reason="x"), declared
    )
    assert (
        verdict(WholeFile("tests/data.json", ""), declared, ("tests/test_a.py",))
        == "allowed"
    )


def test_a_deletion_has_to_be_declared_as_one() -> None:
    assert verdict(Deletion("a.py"), {"a.py": "Delete"}) == "allowed"
    assert verdict(Deletion("a.py"), {"a.py": "Rename to b.py"}) == "allowed"
    assert "declared as `Modify`, not to be deleted" in verdict(
        Deletion("a.py"), {"a.py": "Modify"}
    )
    assert verdict(Deletion("a.py", reason="empty now"), {"a.py": "Modify"}) == "extra"
    assert "not to be changed" in verdict(WholeFile("a.py", ""), {"a.py": "Delete"})
    assert "only the design" in verdict(
        Deletion("setup.py", reason="x"), {"setup.py": "Modify"}
    )


def test_two_names_that_differ_in_case_only_are_one_file_somewhere() -> None:
    judged = judge(
        [WholeFile("src/a.py", ""), WholeFile("SRC/a.py", "")],
        declared={"src/a.py": "Add", "SRC/a.py": "Add"},
    )
    assert len(judged.allowed) == 1
    assert "same file as `src/a.py`" in judged.refusals[0].text


@given(st.text(max_size=30))
def test_no_path_breaks_the_rules_and_every_refusal_is_one_line(path: str) -> None:
    judged = judge([WholeFile(path, "", reason="x")], declared={})
    is_sensitive(path)
    for refusal in judged.refusals:
        assert refusal.text.isprintable()
    if not judged.refusals:
        assert ".." not in path.split("/")
        assert not path.startswith("/")


@pytest.mark.parametrize(
    "folder",
    ["lld/active", "issues", "briefs", "answers", "lineage/active/1", "reports"],
)
@pytest.mark.parametrize("change", [WholeFile, Deletion])
def test_what_people_ask_and_approve_is_never_an_answers_to_write(
    folder: str, change: type[Change]
) -> None:
    for path in (f"docs/{folder}/1.md", f"Docs/{folder.upper()}/1.md"):
        made = _made(change, path)
        for declared in ({}, {path: "Modify"}, {path: "Delete"}, {"docs/": "Modify"}):
            judgement = judge([made], declared=declared)
            assert not judgement.allowed
            assert (
                "which no answer may change; leave it out" in judgement.refusals[0].text
            )


def test_other_documents_are_not_records() -> None:
    for path in (
        "docs/use.md",
        "docs/issues.md",
        "src/docs/issues/1.md",
        "docs/lldb/x.md",
    ):
        assert judge([_made(WholeFile, path)], declared={path: "Add"}).allowed


def _made(kind: type[Change], path: str) -> Change:
    reason = "it is needed"
    return (
        Deletion(path, reason=reason)
        if kind is Deletion
        else WholeFile(path, "x\n", reason=reason)
    )

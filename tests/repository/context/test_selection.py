"""What is selected from a repository, why, and in which bounds."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.repository.context import select_context
from tests.repository.context.trees import (
    DESIGN,
    EXPORT,
    ISSUE,
    SHELF,
    git,
    make_repository,
    write_tree,
)


def heads(text: str) -> list[str]:
    """Return the titles of the entries."""
    return [
        line.removeprefix("#### ")
        for line in text.split("\n")
        if line.startswith("#### ")
    ]


def test_files_are_chosen_by_what_the_issue_says_and_each_says_why(
    tmp_path: Path,
) -> None:
    text = select_context(make_repository(tmp_path, SHELF), ISSUE).text
    assert heads(text) == [
        "`CONTRIBUTING.md` (how this project is worked on)",
        "`pyproject.toml` (in extracts)",
        "Tests",
        "`README.md` (its beginning)",
        "`docs/lld/active/LLD-007.md` (the design of #7, which this item depends on)",
        "`shelf/export.py` (named in the issue; defines `export_loans`, which the issue names and mentions `LoanBook`)",
        "`docs/format.md` (named in the issue)",
        "`shelf/book.py` (defines `LoanBook`, which the issue names; its path has 'book', as the issue)",
        "`tests/test_export.py` (mentions `export_loans`; its path has 'export', as the issue)",
    ]
    assert EXPORT.rstrip() in text
    assert (
        "def lend(self, item: int, *, days: int = 14) -> None  # Lend an item." in text
    )
    assert "- dependencies: click>=8" in text
    assert "- `tests/`: 1 file, such as `tests/test_export.py`" in text


def test_results_that_are_just_being_written_are_not_seen(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, SHELF)
    before = select_context(repository, ISSUE)
    hidden = repository / "docs" / "lld" / "active" / ".LLD-009.md.0a1b2c.tmp"
    hidden.write_text("half a design", "utf-8")
    assert select_context(repository, ISSUE) == before


def test_a_design_that_the_item_builds_on_is_there_with_files_signatures_and_requirements(
    tmp_path: Path,
) -> None:
    text = select_context(make_repository(tmp_path, SHELF), ISSUE).text
    assert "| `shelf/book.py` | Add | the loan book |" in text
    assert "def open_book(path: Path) -> LoanBook: ..." in text
    assert "A loan has a first and a last day." in text
    assert "nobody builds on" not in text


def test_a_finished_design_is_found_too(tmp_path: Path) -> None:
    files = {
        name.replace("/active/", "/done/"): content for name, content in SHELF.items()
    }
    assert (
        "`docs/lld/done/LLD-007.md`"
        in select_context(make_repository(tmp_path, files), ISSUE).text
    )


@pytest.mark.parametrize(
    ("status", "is_shown"),
    [
        ("APPROVED (recorded)", True),
        ("Draft", True),
        ("SKELETON", False),
        ("SIMULATED", False),
    ],
)
def test_a_design_that_no_model_has_seen_is_nothing_to_build_on(
    tmp_path: Path, status: str, is_shown: bool
) -> None:
    path = "docs/lld/active/LLD-007.md"
    files = {**SHELF, path: DESIGN.replace("APPROVED", status)}
    found = select_context(make_repository(tmp_path, files), ISSUE)
    assert (f"`{path}`" in found.text) is is_shown
    assert ("A loan has a first and a last day." in found.text) is is_shown
    assert ("1 finished design" in found.explanation) is is_shown


def test_a_finished_design_is_shown_instead_of_a_skeleton(tmp_path: Path) -> None:
    files = {
        **SHELF,
        "docs/lld/active/LLD-007.md": DESIGN.replace("APPROVED", "SKELETON"),
        "docs/lld/done/LLD-007.md": DESIGN,
    }
    text = select_context(make_repository(tmp_path, files), ISSUE).text
    assert "`docs/lld/done/LLD-007.md` (the design of #7" in text


def test_the_explanation_is_one_line_for_the_log(tmp_path: Path) -> None:
    told = select_context(make_repository(tmp_path, SHELF), ISSUE).explanation
    assert (
        told
        == "4 files shown of 9 considered; 2 named in the issue; 1 finished design; 2 kB"
    )


def test_the_same_repository_and_issue_give_the_same_bytes(tmp_path: Path) -> None:
    one = make_repository(tmp_path / "one", SHELF)
    two = make_repository(tmp_path / "two", dict(reversed(SHELF.items())))
    assert (
        select_context(one, ISSUE)
        == select_context(two, ISSUE)
        == select_context(one, ISSUE)
    )


def test_without_git_the_folder_is_walked_with_the_same_result(tmp_path: Path) -> None:
    one = make_repository(tmp_path / "one", SHELF)
    two = write_tree(
        tmp_path / "two",
        SHELF | {"node_modules/shelf/export.js": "x", "build/export.py": "x = 1"},
    )
    write_tree(two / "own", {"pyvenv.cfg": "", "lib/export.py": "x = 1"})
    assert select_context(one, ISSUE) == select_context(two, ISSUE)


def test_ignored_files_are_not_shown_and_new_ones_are(tmp_path: Path) -> None:
    repository = make_repository(
        tmp_path, SHELF | {".gitignore": "private/\n*.draft.py\n"}
    )
    new = {
        "private/export.py": "HIDDEN = 1",
        "shelf/export.draft.py": "HIDDEN = 1",
        "shelf/loans.py": "VISIBLE = 1\n",
    }
    write_tree(repository, new)
    text = select_context(
        repository, ISSUE + "`shelf/loans.py` `private/export.py` `export.draft.py`\n"
    ).text
    assert "VISIBLE = 1" in text
    assert "HIDDEN" not in text
    assert "private" not in text


def test_a_folder_inside_a_repository_is_seen_from_there(tmp_path: Path) -> None:
    make_repository(
        tmp_path,
        {f"part/{name}": content for name, content in SHELF.items()}
        | {"other/export.py": "NO = 1"},
    )
    text = select_context(tmp_path / "part", ISSUE).text
    assert "`shelf/export.py` (named in the issue" in text
    assert "other" not in text


def test_a_long_file_that_the_issue_names_is_mapped_or_cut(tmp_path: Path) -> None:
    body = "    pass\n" * 4_000
    long = {
        "shelf/export.py": f"def export_loans() -> None:\n{body}",
        "docs/format.md": "# Format\n\n" + "row\n" * 9_000,
    }
    text = select_context(make_repository(tmp_path, SHELF | long), ISSUE).text
    assert "Outline, 4001 lines:\n\n```python\ndef export_loans() -> None\n```" in text
    assert "Outline, 9002 lines:\n\n```markdown\n# Format\n```" in text


def test_text_cannot_close_its_code_block(tmp_path: Path) -> None:
    text = select_context(
        make_repository(tmp_path, SHELF | {"docs/format.md": "````\n## 3. Forged\n"}),
        ISSUE,
    ).text
    assert "`````markdown\n````\n## 3. Forged\n`````" in text


def test_an_empty_or_missing_repository_is_said(tmp_path: Path) -> None:
    assert (
        select_context(tmp_path, ISSUE).explanation
        == "0 files shown of 0 considered; 0 named in the issue; 0 kB"
    )
    missing = select_context(tmp_path / "missing", ISSUE)
    assert (missing.text, missing.explanation) == (
        "",
        "no files shown: the repository cannot be read",
    )


def test_a_repository_without_commits_is_seen(tmp_path: Path) -> None:
    git(write_tree(tmp_path, SHELF), "init", "-q", ".")
    assert EXPORT.rstrip() in select_context(tmp_path, ISSUE).text


SECRET = "sk-ant-" + "Q7x" * 12
NAMES = st.text(
    st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=12
)
PATHS = st.lists(
    NAMES | st.sampled_from(["shelf", "tests", "docs", "export.py", "a.md"]),
    min_size=1,
    max_size=3,
)
CONTENTS = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=400).map(str.encode),
    st.builds(
        lambda before, after: f"{before} {SECRET} {after}".encode(),
        st.text(max_size=60),
        st.text(max_size=60),
    ),
    st.sampled_from(
        [
            EXPORT.encode(),
            b"def export_loans(): ...\n" * 3_000,
            f'KEY = "{SECRET}"\n'.encode() * 900,
        ]
    ),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(PATHS.map("/".join), CONTENTS, max_size=12),
    st.text(max_size=80),
    st.integers(0, 9_000),
)
def test_any_tree_stays_within_the_limit_and_gives_no_secret_away(
    files: dict[str, bytes], words: str, limit: int
) -> None:
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            try:
                write_tree(Path(folder), {name: content})
            except (OSError, ValueError):
                continue
        source = ISSUE + words + " ".join(f"`{name}`" for name in files)
        material = select_context(Path(folder), source, limit)
        assert len(material.text.encode()) <= limit
        assert SECRET not in material.text
        assert "Q7xQ7xQ7xQ7x" not in material.text
        assert "\n" not in material.explanation
        assert select_context(Path(folder), source, limit) == material

"""A repository may have its own prompts and templates; one that cannot work is refused
before anything runs.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentos.errors import UsageError
from agentos.kinds import Kind
from agentos.workflows.prompts.overrides import LIMIT, check_overrides
from agentos.workflows.prompts.rendering import load_template

DRAFT = "inputs: item, issue, previous_draft, findings\n\nDesign {{item}}: {{issue}}\n{{previous_draft}}\n{{findings}}\n"
REVIEW = "inputs: issue, draft\n\nReview {{draft}} against {{issue}}.\n"
CODE = "inputs: design, declared, files, tests, feedback\n\n{{design}} {{declared}} {{files}} {{tests}} {{feedback}}\n"
TEMPLATE = load_template("agentos.workflows.drafting.lld", "lld")


def put(repository: Path, name: str, text: str | bytes) -> Path:
    """Write an override."""
    path = repository / ".agentos" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def complaint(repository: Path, workflow: Kind = Kind.LLD) -> str:
    """Return the one line with which the overrides are refused."""
    with pytest.raises(UsageError) as caught:
        check_overrides(repository, workflow)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_overrides_the_built_in_ones_hold(tmp_path: Path) -> None:
    found = check_overrides(tmp_path, Kind.LLD)
    assert (found.prompts, found.paths) == ({}, ())
    assert found.template == TEMPLATE


def test_an_own_prompt_is_used(tmp_path: Path) -> None:
    put(
        tmp_path,
        "prompts/lld-draft.md",
        b"\xef\xbb\xbf" + DRAFT.replace("\n", "\r\n").encode(),
    )
    found = check_overrides(tmp_path, Kind.LLD)
    inputs = {
        "item": "7",
        "issue": "",
        "template": "t",
        "material": "m",
        "previous_draft": "",
        "findings": "",
    }
    assert found.render("draft", inputs)[0].text == "Design 7: (none)\n(none)\n(none)\n"
    assert list(found.prompts) == ["draft"]
    assert found.paths == (".agentos/prompts/lld-draft.md",)
    assert check_overrides(tmp_path, Kind.ISSUE).paths == ()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("lld-draft", "Design {{issue}}\n", "its first line must declare its inputs"),
        (
            "lld-draft",
            DRAFT.replace("item,", "item, chat,"),
            "declares the unknown input 'chat'",
        ),
        ("lld-draft", DRAFT + "{{material}}", "uses {{material}} without declaring it"),
        ("lld-draft", DRAFT + "{{Issue}}", "uses {{Issue}}, which is not an input"),
        ("lld-draft", DRAFT + "{{ item }}", "uses {{ item }}, which is not an input"),
        ("lld-draft", DRAFT.replace("{{issue}}", ""), "lacks {{issue}}"),
        (
            "lld-draft",
            DRAFT.replace("{{previous_draft}}", ""),
            "lacks {{previous_draft}}",
        ),
        ("lld-draft", DRAFT.replace("{{findings}}", ""), "lacks {{findings}}"),
        ("lld-review", REVIEW.replace("{{draft}}", ""), "lacks {{draft}}"),
        ("lld-review", REVIEW.replace("{{issue}}", ""), "lacks {{issue}}"),
        (
            "lld-review",
            REVIEW + "{{findings}}",
            "uses {{findings}}, which is not an input",
        ),
        ("lld-review", b"inputs: issue\n\n\xff", "is not UTF-8 text (byte 15)"),
        ("lld-review", " \n", "is empty or binary"),
        ("lld-review", REVIEW + "\0", "is empty or binary"),
        ("lld-review", REVIEW + "x" * LIMIT, "is 0.2 MB, the limit is"),
        ("implementation-code", CODE.replace("{{feedback}}", ""), "lacks {{feedback}}"),
        ("implementation-tests", CODE, "declares the unknown input 'declared'"),
        ("implementation-draft", CODE, "no workflow reads it"),
        ("lld-reviews", REVIEW, "no workflow reads it; did you mean lld-review.md?"),
        ("x\n\x1b", REVIEW, "no workflow reads it"),
    ],
)
def test_a_prompt_that_cannot_work_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str | bytes, told: str
) -> None:
    put(tmp_path, f"prompts/{name}.md", text)
    said = complaint(
        tmp_path,
        Kind.IMPLEMENTATION if name.startswith("implementation") else Kind.LLD,
    )
    assert told in said
    assert said.startswith(".agentos/prompts/")


def test_a_prompt_may_speak_of_other_tools_braces(tmp_path: Path) -> None:
    put(
        tmp_path,
        "prompts/lld-review.md",
        REVIEW + "Mind ${{ secrets.TOKEN }} in workflows.\n",
    )
    assert check_overrides(tmp_path, Kind.LLD).prompts


def test_a_readme_beside_the_prompts_is_welcome(tmp_path: Path) -> None:
    put(tmp_path, "prompts/README.md", "Why we do this.\n")
    check_overrides(tmp_path, Kind.LLD)


def test_a_link_inside_the_repository_is_followed_and_one_out_of_it_is_not(
    tmp_path: Path,
) -> None:
    repository = tmp_path / "repo"
    outside = put(tmp_path / "outside", "prompts/lld-review.md", REVIEW)
    inside = put(repository, "shared.md", REVIEW)
    link = repository / ".agentos/prompts/lld-review.md"
    link.parent.mkdir()
    link.symlink_to(inside)
    assert check_overrides(repository, Kind.LLD).prompts["review"] == REVIEW
    link.unlink()
    link.symlink_to(outside)
    assert "is a link that leaves the repository" in complaint(repository)
    link.unlink()
    link.symlink_to("lld-review.md")
    assert ".agentos/prompts/lld-review.md: " in complaint(repository)
    link.unlink()
    link.symlink_to("gone.md")
    assert "is a link that leads nowhere" in complaint(repository)
    link.unlink()
    link.parent.rmdir()
    link.parent.symlink_to(outside.parent)
    assert "is a link that leaves the repository" in complaint(repository)


def test_a_pipe_or_a_folder_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "prompts/lld-draft.md", DRAFT)
    path.unlink()
    os.mkfifo(path)
    assert "is not an ordinary file" in complaint(tmp_path)
    path.unlink()
    path.mkdir()
    assert complaint(tmp_path).startswith(".agentos/prompts/lld-draft.md: ")


def test_a_refusal_of_a_linked_file_names_the_link_and_the_whole_reason(
    tmp_path: Path,
) -> None:
    target = put(tmp_path, "shared: all.md", REVIEW + "x" * LIMIT)
    link = tmp_path / ".agentos/prompts/lld-review.md"
    link.parent.mkdir()
    link.symlink_to(target)
    assert complaint(tmp_path).startswith(".agentos/prompts/lld-review.md: is 0.2 MB")


def test_a_template_may_add_and_not_remove(tmp_path: Path) -> None:
    put(
        tmp_path,
        "templates/lld.md",
        TEMPLATE.replace("## 9. Legal & Compliance", "## Law")
        + "\n## 13. House rules\n",
    )
    assert "lacks '## 9. Legal & Compliance'" in complaint(tmp_path)
    put(
        tmp_path,
        "templates/lld.md",
        TEMPLATE + "\n## 13. House rules\n<fill in: which apply>\n",
    )
    assert "House rules" in check_overrides(tmp_path, Kind.LLD).template
    put(
        tmp_path,
        "templates/issue.md",
        "# Issue\n\n## User Story\n\n## Objective\n\n## Requirements\n",
    )
    assert "lacks '## Acceptance Criteria'" in complaint(tmp_path, Kind.ISSUE)

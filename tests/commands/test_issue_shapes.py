"""Every text that people write is taken, and only `--strict` refuses what is not ready."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentos.documents.lld import parse_lld
from agentos.gateway.providers.offline.filling import GAP
from tests.documents.issues import Shape, read_shapes
from tests.support import World

pytestmark = pytest.mark.slow

MakeWorld = Callable[..., World]
VAGUE = "make the export nicer\n"


def flat(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def take(make_world: MakeWorld, kind: str) -> tuple[World, list[Shape]]:
    """Return a repository with nothing but the texts of a kind."""
    world = make_world(issues=0)
    shapes = list(read_shapes(kind))
    folder = world.repo / "docs" / kind
    folder.mkdir(exist_ok=True)
    for shape in shapes:
        shutil.copy(shape.path, folder)
    return replace(world, is_recorded=False), shapes


def number_of(shape: Shape) -> str:
    return shape.path.stem.partition("-")[0]


def test_every_shape_of_an_issue_becomes_a_skeleton_with_nothing_invented(
    make_world: MakeWorld,
) -> None:
    world, shapes = take(make_world, "issues")
    command = ("lld-workflow", "--all", "--parallel", "4")
    dry = world.run(*command, "--dry-run")
    assert (dry.code, dry.stderr) == (0, "")
    assert f"{len(shapes)} items would be processed" in dry.stdout
    ended = world.run(*command, "--json")
    assert ended.code == 0, ended.text
    assert json.loads(ended.stdout)["counts"] == {"skeleton": len(shapes)}
    for shape in shapes:
        path = world.repo / f"docs/lld/active/LLD-{number_of(shape)}.md"
        skeleton = path.read_text("utf-8")
        assert flat(shape.title) in flat(skeleton.splitlines()[0]), shape
        stated = [
            flat(one.text)
            for one in parse_lld(skeleton).requirements
            if GAP not in one.text
        ]
        wanted = [flat(text) for text in shape.criteria]
        assert stated[: len(wanted)] == wanted, shape
        source = flat(shape.path.read_text("utf-8"))
        for text in stated:
            assert text in source, shape


def test_every_shape_of_a_brief_becomes_a_skeleton_of_an_issue(
    make_world: MakeWorld,
) -> None:
    world, shapes = take(make_world, "briefs")
    ended = world.run("issue-workflow", "--all", "--parallel", "4", "--json")
    assert ended.code == 0, ended.text
    assert json.loads(ended.stdout)["counts"] == {"skeleton": len(shapes)}
    for shape in shapes:
        path = world.repo / f"docs/issues/{number_of(shape)}.md"
        skeleton = path.read_text("utf-8")
        assert flat(shape.title) in flat(skeleton.splitlines()[0]), shape
        assert all(flat(text) in flat(skeleton) for text in shape.criteria), shape


def test_a_plain_text_file_is_an_issue_and_notes_without_a_number_are_none(
    make_world: MakeWorld,
) -> None:
    world = replace(make_world(issues=0), is_recorded=False)
    folder = world.repo / "docs/issues"
    (folder / "7-print-labels.txt").write_text("- in large letters\n", "utf-8")
    (folder / "8.markdown").write_text("Print labels\n", "utf-8")
    (folder / "notes.txt").write_text("call Ann\n", "utf-8")
    ended = world.run("lld-workflow", "--all", "--json")
    assert json.loads(ended.stdout)["counts"] == {"skeleton": 2}
    skeleton = (world.repo / "docs/lld/active/LLD-007.md").read_text("utf-8")
    assert skeleton.startswith("# 7 - Print labels\n")


def test_a_brief_of_any_name_and_ending_is_taken(make_world: MakeWorld) -> None:
    world = replace(make_world(issues=0), is_recorded=False)
    brief = world.repo.parent / "print-labels.txt"
    brief.write_text("- in large letters\n", "utf-8")
    ended = world.run("issue-workflow", "--brief", str(brief))
    assert ended.code == 0, ended.text
    text = (world.repo / "docs/issues/print-labels.md").read_text("utf-8")
    assert "Print labels" in text.splitlines()[0]


@pytest.mark.parametrize("place", ["flag", "environment", "file"])
def test_strict_refuses_what_triage_finds_not_ready_before_any_call(
    world: World, place: str
) -> None:
    (world.repo / "docs/issues/2-export.md").write_text(VAGUE, "utf-8")
    plain = replace(world, is_recorded=False)
    command = ["lld-workflow", "--all"]
    environ = {}
    if place == "flag":
        command.append("--strict")
    elif place == "environment":
        environ["AGENTOS_STRICT"] = "true"
    else:
        (world.repo / "agentos.toml").write_text("strict = true\n", "utf-8")
    ended = plain.run(*command, environ=environ)
    assert ended.code == 1
    (line,) = [
        line for line in ended.stderr.splitlines() if line.startswith("[LLD-2] FAILED")
    ]
    assert "2-export.md: not ready, vague: 4 words in all" in line
    assert line.endswith("or run without --strict (bad-input)")
    assert "1 failed (LLD-2), 2 skeletons" in ended.stdout
    assert "Executing" not in "".join(
        line for line in ended.stdout.splitlines() if "[LLD-2]" in line
    )
    assert plain.run("lld-workflow", "--ids", "2").code == (place == "file")


def test_what_is_strict_is_shown_by_a_dry_run_and_repeated_by_a_retry(
    world: World,
) -> None:
    (world.repo / "docs/issues/2-export.md").write_text(VAGUE, "utf-8")
    plain = replace(world, is_recorded=False)
    dry = plain.run("lld-workflow", "--all", "--strict", "--dry-run")
    assert "  refused  2-export.md: not ready, vague" in dry.stdout
    assert "2 items would be processed" in dry.stdout
    ended = plain.run("lld-workflow", "--all", "--strict")
    assert "Retry: lld-workflow --strict --ids 2" in ended.stdout


def test_a_switch_is_true_or_false(world: World) -> None:
    ended = world.run("lld-workflow", "--all", environ={"AGENTOS_STRICT": "maybe"})
    assert ended.code == 2
    assert "AGENTOS_STRICT: must be true or false, not 'maybe'" in ended.stderr


@pytest.mark.parametrize("text", ["", "\n\n", "<!-- what? -->\n"])
def test_a_brief_without_a_word_is_refused(
    make_world: MakeWorld, text: str, tmp_path: Path
) -> None:
    world = make_world(issues=0, briefs=1)
    (world.repo / "docs/briefs/1-export.md").write_text(text, "utf-8")
    ended = world.run("issue-workflow", "--all")
    assert ended.code == 1
    assert "[ISSUE-1] FAILED: 1-export.md: is empty" in ended.stderr

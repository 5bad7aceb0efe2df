"""What becomes of items without a model: skeletons, recorded approvals, simulations."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentos.documents.judged_text import without_log
from agentos.documents.provenance import RULES
from agentos.gateway.providers.offline.rules import NOTICE
from agentos.run.report.audit import read_audit
from agentos.workflows.prompts.rendering import load_template
from tests.commands.asking import command, key, status_of, write_keys
from tests.designs import git
from tests.scenario import serve
from tests.stand_in import record_answers
from tests.support import ROOT, Finished, World

STYLES = ROOT / "tests" / "documents" / "styles"
APPROVAL = re.compile(r"\bAPPROVED\b(?! \(recorded\))")


@pytest.fixture
def plain(world: World) -> World:
    """A repository with three issues, whose commands get no recorded answers."""
    return replace(world, is_recorded=False)


def documents(world: World) -> dict[str, str]:
    """Return everything that was written below docs, by path."""
    return {
        path.relative_to(world.repo).as_posix(): path.read_text("utf-8")
        for folder in ("docs/lld", "docs/lineage")
        for path in sorted((world.repo / folder).rglob("*.md"))
    }


def design(world: World, item: int) -> str:
    return (world.repo / f"docs/lld/active/LLD-{item:03d}.md").read_text("utf-8")


def commit(world: World) -> None:
    git(world.repo, "init", "--quiet")
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", "--message=Base")


def test_without_a_model_items_end_as_skeletons_that_are_counted_apart(
    plain: World,
) -> None:
    ended = plain.run("lld-workflow", "--all", "--parallel", "3", "--json")
    assert ended.code == 0, ended.text
    assert json.loads(ended.stdout)["counts"] == {"skeleton": 3}
    assert "0/3 workflows complete, 3 skeletons" in ended.stderr
    assert status_of(plain) == {str(n): ("skeleton", None) for n in (1, 2, 3)}
    assert plain.run("agentos", "status").stdout.startswith("3 skeleton")
    (audit,) = plain.run_folders[-1].glob("workflow-audit-1.jsonl")
    last = json.loads(audit.read_text("utf-8").splitlines()[-1])
    assert (last["event"], last["state"]) == ("ended", "skeleton")
    assert "* **Status:** SKELETON" in design(plain, 1)
    again = plain.run("lld-workflow", "--all")
    assert again.stdout == "Nothing to do: 3 already complete, 0 resumed, 0 new\n"


def test_no_document_that_no_model_has_seen_says_approved(plain: World) -> None:
    plain.run("lld-workflow", "--ids", "1")
    plain.run("lld-workflow", "--ids", "2", "--reviewer", "offline:approve_after=3")
    plain.run("lld-workflow", "--ids", "3", "--reviewer", "offline:fault=revise")
    found = documents(plain)
    assert {"docs/lld/active/LLD-001.md", "docs/lld/active/LLD-002.md"} <= set(found)
    for path, text in found.items():
        assert not APPROVAL.search(text), path


def test_recorded_reviews_never_say_approved_alone(plain: World) -> None:
    folder = plain.repo.parent / "answers"
    record_answers(plain.repo, folder)
    recorded = ("--drafter", f"offline:answers={folder}")
    ended = plain.run("lld-workflow", "--all", *recorded)
    assert "3 approved" in ended.stdout, ended.text
    found = documents(plain)
    for path, text in found.items():
        assert not APPROVAL.search(text), path
    verdict = found["docs/lineage/active/2-lld/003-verdict.md"]
    assert "- [x] **APPROVED (recorded)** - ready for implementation\n" in verdict
    assert "- [ ] **REVISE** - " in verdict


def test_a_model_supersedes_a_skeleton(plain: World) -> None:
    plain.run("lld-workflow", "--all")
    skeleton = design(plain, 2)
    with serve({}) as server:
        write_keys(plain, key("openai", server.url), key("gemini", server.url))
        ended = plain.run(*command("openai", "gemini", parallel=3))
    assert ended.code == 0, ended.text
    assert "3 approved" in ended.stdout
    assert "* **Status:** APPROVED\n" in design(plain, 2)
    kept = plain.repo / "docs/lineage/superseded/2-lld-1/LLD-002.md"
    assert kept.read_text("utf-8") == skeleton
    again = plain.run("lld-workflow", "--all")
    assert "3 already complete" in again.stdout


def test_a_skeleton_is_not_built(plain: World) -> None:
    plain.run("lld-workflow", "--issue", "1")
    commit(plain)
    answers = plain.repo.parent / "answers"
    answers.mkdir()
    flags = ("--drafter", f"offline:answers={answers}")
    ended = plain.run("implement-workflow", "--ids", "1", *flags)
    assert ended.code == 1
    (line,) = [line for line in ended.stderr.splitlines() if "FAILED" in line]
    assert "it is a skeleton, which no model has seen" in line
    assert "lld-workflow --ids 1 --drafter PROVIDER:MODEL" in line
    everything = plain.run("implement-workflow", "--all", *flags)
    assert (everything.code, "Nothing to do" in everything.stdout) == (0, True)


def test_a_recorded_approval_says_so_and_counts_with_the_same_flag_only(
    plain: World,
) -> None:
    folder = plain.repo.parent / "answers"
    record_answers(plain.repo, folder)
    recorded = ("--drafter", f"offline:answers={folder}")
    ended = plain.run("lld-workflow", "--issue", "1", *recorded)
    assert "APPROVED (recorded) in round 1" in ended.stderr
    assert "1 approved" in ended.stdout
    assert "* **Status:** APPROVED (recorded)\n" in design(plain, 1)
    assert not APPROVAL.search(design(plain, 1))
    commit(plain)
    dry = plain.run("implement-workflow", "--ids", "1", "--dry-run", *recorded)
    assert "1 item would be processed" in dry.stdout
    with serve({}) as server:
        write_keys(plain, key("openai", server.url))
        asking = ("--drafter", "openai:gpt-6-luna", "--price", "openai:*=1/1")
        refused = plain.run("implement-workflow", "--ids", "1", *asking)
    assert refused.code == 1
    assert "its approval was recorded, not given by a model" in refused.stderr


@pytest.mark.parametrize("origin", ["agentos.toml", "environment"])
def test_recorded_answers_are_taken_from_a_flag_only(plain: World, origin: str) -> None:
    spec = f"offline:answers={plain.repo}"
    environ = {}
    if origin == "environment":
        environ["AGENTOS_DRAFTER"] = spec
    else:
        (plain.repo / "agentos.toml").write_text(f'drafter = "{spec}"\n', "utf-8")
    ended = plain.run("lld-workflow", "--all", environ=environ)
    assert ended.code == 2
    assert "recorded answers are given by flag only" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_recorded_answers_in_a_repository_are_not_found_by_themselves(
    plain: World,
) -> None:
    record_answers(plain.repo, plain.repo / ".agentos" / "recorded")
    assert "1 skeleton" in plain.run("lld-workflow", "--issue", "1").stdout


def test_a_simulated_item_is_pending_again(plain: World) -> None:
    simulate = ("lld-workflow", "--issue", "1", "--reviewer", "offline:approve_after=3")
    for _ in range(2):
        ended = plain.run(*simulate)
        assert (ended.code, "1 simulated" in ended.stdout) == (0, True), ended.text
        assert ended.stdout.count("N1_design") == 3
    assert "* **Status:** SIMULATED" in design(plain, 1)
    assert status_of(plain)["1"] == ("simulated", None)


LOG_OF_0_2_0 = """\
---

## Appendix: Review Log

### Review #1 (APPROVED)

**Reviewer:** {reviewer}
**Date:** 2026-11-01
**Verdict:** APPROVED

No findings.

**Final Status:** APPROVED
"""


def test_what_the_rules_of_0_2_0_approved_counts_as_a_skeleton(plain: World) -> None:
    plain.run("lld-workflow", "--issue", "1")
    path = plain.repo / "docs/lld/active/LLD-001.md"
    text = design(plain, 1)
    log = LOG_OF_0_2_0.format(reviewer=RULES)
    stamp = re.sub(r" text=sha256:\w+", "", text.rstrip().rpartition("\n")[2])
    body = without_log(text).replace("SKELETON", "APPROVED")
    path.write_text(f"{body}\n{log}\n{stamp}\n", "utf-8")
    (record,) = (plain.home / "items").glob("*/lld_1.json")
    data = json.loads(record.read_text("utf-8"))
    data["state"] = "approved"
    data["message"] = "No findings. Reviewed by rules; no model was asked."
    record.write_text(json.dumps(data), "utf-8")
    assert status_of(plain)["1"] == ("skeleton", None)
    commit(plain)
    flags = ("--drafter", f"offline:answers={plain.repo}")
    refused = plain.run("implement-workflow", "--ids", "1", *flags)
    assert "it is a skeleton" in refused.stderr
    record.unlink()
    assert status_of(plain)["1"] == ("skeleton", None)


def test_a_draft_of_a_model_is_not_approved_by_rules(plain: World) -> None:
    with serve({}) as server:
        write_keys(plain, key("openai", server.url))
        asking = ("--drafter", "openai:gpt-6-luna", "--price", "openai:*=1/1")
        ended = plain.run(
            "lld-workflow", "--issue", "1", *asking, "--reviewer", "offline"
        )
        alone = plain.run("lld-workflow", "--issue", "2", *asking)
    assert "1 need revision" in ended.stdout
    assert "rules approve nothing" in ended.stdout
    assert not (plain.repo / "docs/lld/active/LLD-001.md").exists()
    assert ("1 approved" in alone.stdout, "both gpt" in alone.stderr) == (True, True)


@pytest.mark.parametrize("origin", ["flag", "agentos.toml", "environment"])
def test_no_model_is_paid_to_review_a_skeleton(plain: World, origin: str) -> None:
    flags: tuple[str, ...] = ()
    environ = {}
    if origin == "flag":
        flags = ("--drafter", "offline")
    elif origin == "environment":
        environ["AGENTOS_DRAFTER"] = "offline:latency=0.1"
    else:
        (plain.repo / "agentos.toml").write_text('drafter = "offline"\n', "utf-8")
    asking = ("--reviewer", "openai:gpt-6-luna", "--price", "openai:*=1/1")
    with serve({}) as server:
        write_keys(plain, key("openai", server.url))
        words = ("lld-workflow", "--all", *flags, *asking)
        ended = plain.run(*words, environ=environ)
        dry = plain.run(*words, "--dry-run", environ=environ)
        assert not server.ledger.admitted()
    for refused in (ended, dry):
        assert (refused.code, refused.stdout) == (2, "")
        (line,) = refused.stderr.splitlines()
        assert f"drafter ({origin}): the rules of offline only make skeletons" in line
        assert "openai:gpt-6-luna would be paid" in line
    assert documents(plain) == {}


def test_recorded_reviews_of_a_skeleton_cost_nothing_and_are_allowed(
    plain: World,
) -> None:
    folder = plain.repo.parent / "answers"
    record_answers(plain.repo, folder)
    models = ("--drafter", "offline", "--reviewer", f"offline:answers={folder}")
    ended = plain.run("lld-workflow", "--issue", "1", *models)
    assert (ended.code, "1 skeleton" in ended.stdout) == (0, True), ended.text


def test_offline_asks_nothing_that_an_answer_would_bring_back(plain: World) -> None:
    issue = plain.repo / "docs/issues/1-export.md"
    text = issue.read_text("utf-8") + "\n## Open Questions\n- [ ] Which lists?\n"
    issue.write_text(text, "utf-8")
    assert "1 skeleton" in plain.run("lld-workflow", "--issue", "1").stdout
    assert "- [ ] Which lists?" in design(plain, 1)
    answered = plain.run("agentos", "answer", "1", "--text", "All of them")
    assert answered.code == 2
    assert "LLD-1 is skeleton and has no question" in answered.stderr


def test_a_skeleton_waits_for_no_approval_but_a_design_does(plain: World) -> None:
    depend_on_first(plain)
    ended = plain.run("lld-workflow", "--all")
    assert (ended.code, "3 skeletons" in ended.stdout) == (0, True), ended.text
    named = ask_for_second(plain)
    assert "which is only a skeleton; continuing without it" in named.stderr


def test_a_simulated_item_is_nothing_to_build_on(plain: World) -> None:
    depend_on_first(plain)
    simulate = ("--reviewer", "offline:approve_after=1")
    first = plain.run("lld-workflow", "--ids", "1", *simulate)
    assert "1 simulated" in first.stdout, first.text
    named = ask_for_second(plain)
    assert (
        "Depends on #1, which was only simulated; continuing without it" in named.stderr
    )


@pytest.mark.parametrize("reviewer", ["offline", "offline:approve_after=1"])
def test_the_drafter_sees_no_design_that_no_model_has_seen(
    plain: World, reviewer: str
) -> None:
    depend_on_first(plain)
    plain.run("lld-workflow", "--ids", "1", "--reviewer", reviewer)
    assert design(plain, 1)
    ask_for_second(plain)
    (audit,) = plain.run_folders[-1].glob("workflow-audit-2.jsonl")
    (material,) = [
        event for event in read_audit(audit) if event["event"] == "material-gathered"
    ]
    assert "files shown" in material["message"]
    assert "finished design" not in material["message"]


def depend_on_first(world: World) -> None:
    """Let the second issue depend on the first."""
    issue = world.repo / "docs/issues/2-export.md"
    text = f"{issue.read_text('utf-8')}\n## Dependencies\n- Depends on: #1\n"
    issue.write_text(text, "utf-8")


def ask_for_second(world: World) -> Finished:
    """Have a model draft the second design alone."""
    with serve({}) as server:
        write_keys(world, key("openai", server.url))
        asking = ("--drafter", "openai:gpt-6-luna", "--price", "openai:*=1/1")
        return world.run("lld-workflow", "--ids", "2", *asking)


def test_issues_of_any_style_get_skeletons_without_an_invented_word(
    make_world: Callable[..., World],
) -> None:
    world = replace(make_world(issues=0), is_recorded=False)
    sources: dict[str, Path] = {}
    for number, path in enumerate(sorted(STYLES.glob("*.md")), 1):
        name = f"{number}-{path.stem.replace('_', '-')}.md"
        shutil.copy(path, world.repo / "docs/issues" / name)
        sources[str(number)] = path
    ended = world.run("lld-workflow", "--all", "--parallel", "3", "--json")
    items = json.loads(ended.stdout)["items"]
    written = [item for item in items if item["status"] == "skeleton"]
    refused = [item for item in items if item["status"] != "skeleton"]
    assert len(written) >= 7, ended.stdout
    assert {item["class"] for item in refused} <= {"bad-input"}
    template = load_template("agentos.workflows.drafting.lld", "lld")
    ours = f"{NOTICE} SKELETON Reviews 1 not in the issue issue's scenario"
    ours += " Out of scope according to"
    for item in written:
        source = sources[item["id"]].read_text("utf-8")
        text = (world.repo / item["artefact"]).read_text("utf-8")
        body, found, _ = text.partition("## Appendix: Review Log")
        assert found
        known = words_of(source, template, ours, item["id"])
        assert words_of(body) - known == set(), item["source"]


def test_a_row_of_a_table_is_a_requirement_with_its_condition(
    make_world: Callable[..., World],
) -> None:
    world = replace(make_world(issues=0), is_recorded=False)
    shutil.copy(STYLES / "tables.md", world.repo / "docs/issues/71-fees.md")
    ended = world.run("lld-workflow", "--all")
    assert "1 skeleton" in ended.stdout, ended.text
    _, _, rest = design(world, 71).partition("## 3. Requirements\n")
    section, _, _ = rest.partition("\n## 4.")
    assert section.splitlines() == [
        "1. Days late: 1 to 7; Fee: 0.50 EUR a day",
        "2. Days late: 8 and more; Fee: 5 EUR, once",
    ]


def words_of(*texts: str) -> set[str]:
    """Return the words of the texts, the numbers of list entries aside."""
    joined = re.sub(r"(?m)^\d+\.", "", "\n".join(texts))
    return set(re.findall(r"\w+", joined.casefold()))

"""`agentos calibrate` through real SDKs: reviewers of every temper are told apart, and
nothing is paid twice.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict import CoverageRow, Decision, Verdict, verdict_json
from agentos.workflows.calibration.case_files import DefectClass, load_cases
from tests.commands.asking import MODELS, PRICES, key, write_keys
from tests.scenario import Serving, serve
from tests.support import SIGINT, SIGKILL, World, ended_by, wait_until

CASES = load_cases()
DEFECTS = sum(case.defect is not None for case in CASES)
CONTROLS = len(CASES) - DEFECTS
GENERIC = "The design is not convincing as a whole; please think about errors and tests once more."
PROSE = "I like it, so it is APPROVED from my side."


def answer(
    decision: Decision, text: str = "", section: str = "", tier: Tier = Tier.HIGH
) -> str:
    """Return a verdict with one finding, or none."""
    findings = (Finding("F1", tier, Category.QUALITY, section, text),) if text else ()
    coverage = (CoverageRow("R1", "It works", ("010",), True),)
    return verdict_json(Verdict(decision, "As scripted.", findings, (), (), coverage))


STAMP = [{"purpose": "lld.review", "text": answer(Decision.APPROVED)}]
NAYSAYER = [{"purpose": "lld.review", "text": answer(Decision.REVISE, GENERIC, "2.5")}]
MUMBLER = [{"purpose": "lld.review", "text": PROSE}]


def good_reviewer() -> list[dict[str, Any]]:
    """Return answers for cases asked one after the other: controls pass, each defect is
    told as what it is.
    """
    texts: dict[str, list[str]] = defaultdict(list)
    for case in CASES:
        is_clean = case.defect is None
        section = "" if case.defect is None else case.defect.sections[0]
        texts[case.item].append(
            answer(Decision.APPROVED)
            if is_clean
            else answer(Decision.REVISE, case.why, section)
        )
    return [
        {"purpose": "lld.review", "item": item, "texts": given}
        for item, given in texts.items()
    ]


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A repository without issues: a calibration needs none."""
    return make_world(issues=0)


@pytest.fixture
def server(world: World) -> Iterator[Serving]:
    """A rubber stamp that is asked as Anthropic's."""
    with serve({"answer": STAMP, **PRICES}) as serving:
        write_keys(world, key("anthropic", serving.url))
        yield serving


def command(*providers: str, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the command for these providers at the server's prices."""
    models = [f"{name}:{MODELS[name]}" for name in providers]
    options = [
        part
        for model in models
        for part in ("--reviewer", model, "--price", f"{model}=3/15")
    ]
    return ("agentos", "calibrate", *options, *more)


def test_one_run_tells_a_rubber_stamp_a_naysayer_and_a_good_reviewer_apart(
    world: World,
) -> None:
    tempers = {"anthropic": STAMP, "gemini": NAYSAYER, "openai": good_reviewer()}
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(serve({"answer": given, **PRICES}))
            for name, given in tempers.items()
        }
        write_keys(world, *(key(name, server.url) for name, server in servers.items()))
        ended = world.run(*command(*tempers))
        bills = {name: server.ledger.bill() for name, server in servers.items()}
        with_json = world.run(*command(*tempers, more=("--json",)))
        asked = {
            name: len(server.ledger.admitted()) for name, server in servers.items()
        }
    assert ended.code == 0, ended.text
    assert all(len(line) <= 80 for line in ended.stdout.splitlines())
    said = " ".join(ended.stdout.split())
    assert (
        f"[1] anthropic:{MODELS['anthropic']} rubber stamp: approves everything; catches 0 of {DEFECTS}"
        in said
    )
    assert (
        f"[2] gemini:{MODELS['gemini']} cannot tell good from bad: approves nothing; catches 0 of {DEFECTS}"
        in said
    )
    assert f"false alarms {CONTROLS} of {CONTROLS}" in said
    assert (
        f"[3] openai:{MODELS['openai']} useful; catches {DEFECTS} of {DEFECTS}" in said
    )
    document = json.loads(with_json.stdout)
    assert asked == dict.fromkeys(tempers, 2 * len(CASES)), (
        "a calibration that has ended is asked anew"
    )
    assert (document["schema"], document["complete"], document["prompt"]) == (
        1,
        True,
        "built-in",
    )
    stamp, naysayer, good = document["models"]
    assert [entry["worth"] for entry in (stamp, naysayer)] == [
        "rubber-stamp",
        "cannot-tell",
    ]
    assert naysayer["outcomes"]["revised-elsewhere"] == DEFECTS
    assert stamp["calls"] == len(CASES)
    assert stamp["cost"] == pytest.approx(bills["anthropic"], abs=1e-3)
    # Its script has come to an end in the first run, and its last answer names one
    # defect.
    assert good["caught"]["count"] < DEFECTS


def test_a_second_answer_is_asked_for_once_and_then_the_case_counts_as_unusable(
    world: World,
) -> None:
    with serve({"answer": MUMBLER}) as server:
        write_keys(world, key("anthropic", server.url))
        ended = world.run(
            *command(
                "anthropic",
                more=("--json", "--classes", "leaked-secret", "--parallel", "5"),
            )
        )
        asked = len(server.ledger.admitted())
    (model,) = json.loads(ended.stdout)["models"]
    cases = CONTROLS + sum(case.kind == DefectClass.LEAKED_SECRET for case in CASES)
    assert ended.code == 0
    assert (model["worth"], model["outcomes"]["unusable"], asked) == (
        "unusable",
        cases,
        2 * cases,
    )


def test_a_defect_that_is_named_in_an_approval_is_no_catch(world: World) -> None:
    text = (
        "The staging password stands in the text: a credential does not belong there."
    )
    with serve(
        {
            "answer": [
                {"purpose": "lld.review", "text": answer(Decision.APPROVED, text, "5")}
            ]
        }
    ) as server:
        write_keys(world, key("anthropic", server.url))
        ended = world.run(
            *command("anthropic", more=("--json", "--classes", "leaked-secret"))
        )
    (model,) = json.loads(ended.stdout)["models"]
    assert model["caught"]["count"] == 0
    assert model["outcomes"]["approved-although-named"] >= 1
    assert model["worth"] == "rubber-stamp"


def test_a_killed_calibration_asks_only_what_is_missing(
    world: World, server: Serving
) -> None:
    server.change(fault=[{"kind": "silence", "after": 8}])
    with world.start(*command("anthropic", more=("--parallel", "2"))) as running:
        running.wait_for(r"anthropic:\S+: (missed|approved)", times=8)
        wait_until(
            lambda: len(server.ledger.admitted()) == 10, "two more are under way"
        )
        running.signal(SIGKILL)
        running.process.wait()
    server.change(fault=[])
    ended = world.run(*command("anthropic", more=("--parallel", "2", "--json")))
    assert ended.code == 0, ended.text
    document = json.loads(ended.stdout)
    assert (document["complete"], document["answered"]) == (True, len(CASES))
    assert sorted(server.ledger.repeated().values()) == [2, 2], (
        "only what was under way is asked again"
    )
    assert len(server.ledger.admitted()) == len(CASES) + 2
    assert document["models"][0]["calls"] == len(CASES) + 2, (
        "the calls of the killed run are told too"
    )


def test_a_cap_stops_it_and_a_higher_one_goes_on(world: World, server: Serving) -> None:
    ended = world.run(*command("anthropic", more=("--max-cost", "0.70")))
    assert ended.code == 75, ended.text
    assert "the cap of $0.70 for this run" in ended.stderr
    assert "questions were not answered; run the same command to go on" in " ".join(
        ended.stdout.split()
    )
    assert 0 < server.ledger.bill() <= 0.70
    before = len(server.ledger.admitted())
    assert 0 < before < len(CASES)
    again = world.run(*command("anthropic", more=("--max-cost", "20")))
    assert again.code == 0, again.text
    assert len(server.ledger.admitted()) == len(CASES)
    assert not server.ledger.repeated()
    assert f"{before} answers came from the journal" in again.stdout


def test_ctrl_c_ends_it_with_what_is_known_so_far(
    world: World, server: Serving
) -> None:
    server.change(fault=[{"kind": "silence", "after": 4}])
    with world.start(*command("anthropic", more=("--json",))) as running:
        running.wait_for(r"anthropic:\S+: (missed|approved)", times=4)
        running.signal(SIGINT)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT), ended.text
    assert "Traceback" not in ended.text
    document = json.loads(ended.stdout)
    assert (document["complete"], document["answered"]) == (False, 4)
    server.change(fault=[])
    again = world.run(*command("anthropic", more=("--json", "--parallel", "5")))
    assert json.loads(again.stdout)["complete"] is True


def test_a_second_ctrl_c_ends_it_at_once(world: World, server: Serving) -> None:
    server.change(fault=[{"kind": "silence", "after": 2}])
    with world.start(*command("anthropic")) as running:
        running.wait_for(r"anthropic:\S+: (missed|approved)", times=2)
        running.signal(SIGINT)
        running.wait_for("Ctrl\\+C again to stop immediately")
        running.signal(SIGINT)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT), ended.text
    assert "unknown: too little was answered" in ended.stdout


def test_a_provider_that_fails_is_told_and_the_rest_is_reported(
    world: World, server: Serving
) -> None:
    server.change(fault=[{"kind": "bad-request", "at": [3]}])
    ended = world.run(*command("anthropic"))
    assert ended.code == 1, ended.text
    assert "1 question failed: " in ended.stdout
    assert f"1 of {len(CASES)} questions were not answered" in ended.stdout
    server.change(fault=[])
    assert world.run(*command("anthropic")).code == 0
    assert len(server.ledger.admitted()) == len(CASES)


def test_every_repetition_is_a_question_of_its_own(
    world: World, server: Serving
) -> None:
    more = ("--repeat", "3", "--classes", "impossible-api", "--parallel", "5", "--json")
    ended = world.run(*command("anthropic", more=more))
    cases = CONTROLS + sum(case.kind == DefectClass.IMPOSSIBLE_API for case in CASES)
    assert json.loads(ended.stdout)["answered"] == 3 * cases
    assert len(server.ledger.admitted()) == 3 * cases


def test_the_prompt_of_the_repository_is_the_one_that_is_calibrated(
    world: World, server: Serving
) -> None:
    folder = world.repo / ".agentos/prompts"
    folder.mkdir(parents=True)
    (folder / "lld-review.md").write_text(
        "inputs: issue, draft\n\nJudge.\n\n{{issue}}\n\n{{draft}}\n", "utf-8"
    )
    server.change(answer=[{"purpose": "*", "text": answer(Decision.APPROVED)}])
    ended = world.run(*command("anthropic", more=("--json", "--parallel", "5")))
    assert json.loads(ended.stdout)["prompt"] == ".agentos/prompts/lld-review.md"
    assert {call.purpose for call in server.ledger.admitted()} == {"other"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("--reviewer", "anthropic:claude-sonnet-5"),
            "no anthropic key; set ANTHROPIC_API_KEY or run: ",
        ),
        (("--reviewer", "nobody:x"), "unknown provider 'nobody'"),
        (("--repeat", "0"), "--repeat: must be 1 or more"),
        (("--repeat", "1000"), "--repeat: must be 100 or less"),
        (("--parallel", "x"), "--parallel: must be a whole number"),
        (
            ("--classes", "leaked-secrets"),
            "unknown class 'leaked-secrets'; did you mean leaked-secret?",
        ),
        (("--max-cost", "much"), "--max-cost: 'much' is not an amount in dollars"),
        (("--repo", "no-such-folder"), "no-such-folder: no such folder"),
        (
            ("--reviwer", "offline"),
            "unknown option --reviwer; did you mean --reviewer?",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    world: World, arguments: tuple[str, ...], complaint: str
) -> None:
    ended = world.run("agentos", "calibrate", *arguments)
    assert ended.code == 2, ended.text
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_two_calibrations_at_once_do_not_disturb_each_other(
    world: World, server: Serving
) -> None:
    server.change(fault=[{"kind": "silence", "at": [1]}])
    with world.start(*command("anthropic")) as running:
        running.wait_for("questions to ask")
        second = world.run("agentos", "calibrate")
        assert second.code == 2
        assert f"another calibration runs as pid {running.pid}" in second.stderr


def test_the_rules_can_be_calibrated_without_a_key(world: World) -> None:
    ended = world.run("agentos", "calibrate", "--json", "--quiet")
    (model,) = json.loads(ended.stdout)["models"]
    assert (
        ended.code,
        model["model"],
        model["cost"],
        model["false_alarms"]["count"],
    ) == (0, "offline", 0, 6)
    assert ended.stderr == ""


def test_a_calibration_leaves_nothing_behind_that_a_run_would_see(world: World) -> None:
    world.run("agentos", "calibrate")
    assert world.leftovers() == []
    assert not list((world.home / "tmp").iterdir())
    assert "Nothing here" in world.run("agentos", "status").stdout

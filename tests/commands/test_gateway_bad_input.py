"""Whatever a key file, a server or a model gives: one clear line, the right class, and
the others go on.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from agentos.gateway.retry_policy import MAX_RETRIES
from agentos.state.redaction import fingerprint
from tests.commands.asking import (
    PRICES,
    command,
    events_of,
    key,
    key_file,
    lines_with,
    status_of,
    summary_of,
    write_keys,
)
from tests.scenario import serve
from tests.support import Finished, World

GOOD, WRONG, WRONG_TOO = "sk-good-00000001", "sk-wrong-0000001", "sk-wrong-0000002"
NOWHERE = "http://127.0.0.1:9"
KEY = key("openai", NOWHERE)
TWO_GROUPS = "".join(
    f'[[group]]\nprovider = "openai"\nname = "team"\nrequests_per_minute = {n}\n'
    for n in (5, 6)
)
APPROVED = ("approved", None)


def refused_at_start(ended: Finished, *words: str) -> None:
    """See that a command ended before anything ran, with one line that has these
    words.
    """
    assert ended.code == 2, ended.text
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("lld-workflow: ")
    assert all(word in line for word in words), line


def failed_lines(ended: Finished, item: str) -> list[str]:
    """Return what was said of an item's failure as it happened."""
    return lines_with(ended.stderr, f"[LLD-{item}] FAILED: ")


def test_no_key_at_all_is_told_with_the_two_ways_to_give_one(world: World) -> None:
    ended = world.run(*command("gemini"))
    refused_at_start(
        ended, "no gemini key", "GEMINI_API_KEY", "agentos keys add gemini"
    )
    assert not (world.home / "logs").exists()


FILES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "readable by others": (key_file(KEY), 0o644, ("keys.toml", "chmod 600")),
    "no TOML": (
        '[[key]]\nprovider = "openai\n',
        0o600,
        ("keys.toml", "not valid TOML at line 2"),
    ),
    "unknown provider": (
        key_file({**KEY, "provider": "opanai"}),
        0o600,
        ("keys.toml, key 1", "openai"),
    ),
    "two groups with one name": (
        key_file({**KEY, "group": "team"}) + TWO_GROUPS,
        0o600,
        ("group 2", "group 1"),
    ),
    "a base URL that is none": (
        key_file({**KEY, "base_url": "localhost"}),
        0o600,
        ("keys.toml, key 1", "base_url"),
    ),
    "an empty file": ("\n", 0o600, ("no openai key", "OPENAI_API_KEY")),
}


@pytest.mark.parametrize(("text", "mode", "words"), FILES.values(), ids=FILES.keys())
def test_a_key_file_that_cannot_be_used_is_told_before_anything_ran(
    world: World, text: str, mode: int, words: tuple[str, ...]
) -> None:
    write_keys(world, text=text, mode=mode)
    ended = world.run(*command("openai"))
    refused_at_start(ended, *words)
    assert KEY["key"] not in ended.text
    assert not (world.home / "logs").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--drafter", "mistral:large"), ("unknown provider 'mistral'", "openai")),
        (("--drafter", "openai"), ("openai needs a model", "openai:MODEL")),
        (
            ("--drafter", "openai:my-own"),
            ("openai:my-own", "price is not known", "--price openai:my-own="),
        ),
        (("--drafter", "openai:x", "--price", "openai:x=cheap"), ("openai:x=cheap",)),
        (
            ("--drafter", "openai:x", "--price", "openai:x=1/1", "--max-cost", "lots"),
            ("max-cost", "dollars"),
        ),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_before_anything_ran(
    world: World, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    write_keys(world, KEY)
    refused_at_start(world.run("lld-workflow", "--all", *arguments), *words)


def test_an_idle_time_that_is_none_is_told_before_anything_ran(world: World) -> None:
    write_keys(world, KEY)
    refused_at_start(
        world.run(*command("openai"), environ={"AGENTOS_IDLE_TIMEOUT": "soon"}),
        "AGENTOS_IDLE_TIMEOUT",
    )


def test_a_wrong_key_among_good_ones_is_told_once_and_nothing_fails(
    world: World,
) -> None:
    with serve({**PRICES, "key": [{"secret": GOOD}]}) as server:
        write_keys(
            world, key("openai", server.url, WRONG), key("openai", server.url, GOOD)
        )
        ended = world.run(*command("openai"))
    assert ended.code == 0, ended.text
    assert "3 approved" in ended.stdout
    name = fingerprint("openai", WRONG)
    assert (
        len(
            lines_with(
                ended.stderr,
                f"Credential {name} (keys.toml, key 1) is refused and not used again",
            )
        )
        == 1
    )
    # The provider quotes the key with its middle masked; what is left of it is nobody's
    # business either.
    assert "sk-wrong" not in ended.text
    told = world.run("agentos", "keys", "list").stdout
    assert "dead" in lines_with(told, name)[0]


def test_items_fail_as_auth_when_every_key_is_wrong_and_a_new_key_mends_it(
    world: World,
) -> None:
    with serve({**PRICES, "key": [{"secret": GOOD}]}) as server:
        write_keys(
            world,
            key("openai", server.url, WRONG),
            key("openai", server.url, WRONG_TOO),
        )
        ended = world.run(*command("openai"))
        assert ended.code == 1, ended.text
        assert set(status_of(world).values()) == {("failed", "auth")}
        assert "0 completed, 3 failed" in ended.stdout
        for secret in (WRONG, WRONG_TOO):
            assert (
                len(
                    lines_with(
                        ended.stderr,
                        fingerprint("openai", secret),
                        "is refused and not used again",
                    )
                )
                == 1
            )
        assert "sk-wrong" not in ended.text
        for item in "123":
            (line,) = failed_lines(ended, item)
            assert "every openai key is refused" in line
            assert "agentos keys add" in line
            assert line.endswith("(auth)")
        assert "Traceback" not in ended.text
        write_keys(world, key("openai", server.url, GOOD))
        mended = world.run(*command("openai"))
        assert mended.code == 0, mended.text
        assert server.ledger.bill() == pytest.approx(
            summary_of(world.run_folders[-1])["cost"]
        )


LASTING: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a page of HTML": ({"kind": "html"}, "provider", "not the API (text/html", "1"),
    "an empty answer": ({"kind": "empty"}, "model-format", "the answer is empty", "2"),
    "10 MB of answer": ({"kind": "huge"}, "model-format", "reading was stopped", "3"),
    "a verdict that is none": (
        {"kind": "bad-json", "purpose": "lld.review"},
        "model-format",
        "no usable verdict",
        "4",
    ),
    "an unknown model": (
        {"kind": "not-found"},
        "provider",
        "The model `gpt-6-luna` does not exist",
        "5",
    ),
    "a bad request": (
        {"kind": "bad-request"},
        "provider",
        "Missing required parameter: 'messages'",
        "6",
    ),
}


def test_every_bad_answer_fails_its_own_item_in_its_own_class_and_a_rerun_asks_anew(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=8)
    faults = [{**fault, "item": item} for fault, _, _, item in LASTING.values()]
    with serve({**PRICES, "fault": faults}) as server:
        write_keys(
            world,
            key("openai", server.url),
            key("openai", server.url, "sk-openai-0000002"),
        )
        ended = world.run(*command("openai", parallel=8))
        assert ended.code == 1, ended.text
        assert "2 completed, 6 failed" in ended.stdout
        assert "Traceback" not in ended.text
        status = status_of(world)
        assert (status["7"], status["8"]) == (APPROVED, APPROVED)
        for _, failure, words, item in LASTING.values():
            assert status[item] == ("failed", failure)
            (line,) = failed_lines(ended, item)
            assert words in line
            assert line.endswith(f"({failure})")
        asked = [
            call
            for call in server.ledger.calls(item="4")
            if call.purpose == "lld.review"
        ]
        assert len(asked) == 2
        assert all(len(server.ledger.calls(item=item)) == 1 for item in "1236")
        # The other key is tried too.
        assert len(server.ledger.calls(item="5")) == 2

        server.change(fault=[])
        again = world.run(*command("openai", parallel=8))
        assert again.code == 0, again.text
        assert "6 approved" in again.stdout
        assert set(status_of(world).values()) == {APPROVED}
        assert all(
            sum(call.status == 200 for call in server.ledger.calls(item=item)) == 2
            for item in "7856"
        )


def test_a_server_that_stays_silent_fails_the_item_and_a_rerun_asks_anew(
    make_world: Callable[..., World],
) -> None:
    """One item only: on a busy machine a sibling's answer could come too late as well."""
    world = make_world(issues=1)
    with serve({**PRICES, "fault": [{"kind": "silence"}]}) as server:
        write_keys(world, key("openai", server.url))
        ended = world.run(
            *command("openai"), environ={"AGENTOS_FIRST_BYTE_TIMEOUT": "1.5"}
        )
        assert ended.code == 1, ended.text
        (line,) = failed_lines(ended, "1")
        assert "sent nothing for 1.5 s and was given up" in line
        assert line.endswith("(provider)")
        assert len(server.ledger.calls(item="1")) == 1 + MAX_RETRIES

        server.change(fault=[])
        again = world.run(*command("openai"))
        assert again.code == 0, again.text
        assert status_of(world) == {"1": APPROVED}


def test_faults_that_pass_fail_no_item(make_world: Callable[..., World]) -> None:
    world = make_world(issues=8)
    passing = [
        {"kind": "overloaded", "lasts": 1.5, "after": 2, "purpose": "lld.review"},
        {"kind": "overloaded", "in_stream": True, "item": "1", "times": 2},
        {"kind": "cut-stream", "item": "2", "times": 2},
        {"kind": "reset", "item": "3", "times": 1},
        {"kind": "reset", "in_stream": True, "item": "4", "times": 1},
        {"kind": "server-error", "item": "5", "times": 2},
        {"kind": "bad-json", "purpose": "lld.review", "item": "6", "times": 1},
        {"kind": "bad-json", "in_stream": True, "item": "7", "times": 1},
        {"kind": "slow", "delay": 0.1, "item": "8"},
    ]
    with serve({**PRICES, "fault": passing}) as server:
        write_keys(
            world,
            key("anthropic", server.url),
            key("anthropic", server.url, "sk-anthropic-02"),
        )
        ended = world.run(*command("anthropic", parallel=8))
        bill = server.ledger.bill()
    assert ended.code == 0, ended.text
    assert "8 approved" in ended.stdout
    assert "FAILED" not in ended.text
    assert "Traceback" not in ended.text
    assert "exhausted" not in ended.stderr
    assert "refused" not in ended.stderr
    folder = world.run_folders[-1]
    retries = dict.fromkeys("12345678", 0)
    for call in events_of(folder, "call"):
        retries[call["item"]] += call["retries"]
    assert (
        retries["1"],
        retries["2"],
        retries["3"],
        retries["4"],
        retries["5"],
        retries["8"],
    ) == (0, 2, 1, 1, 2, 0)
    assert [item["attempts"] for item in summary_of(folder)["items"]] == [1] * 8
    summary = summary_of(folder)
    assert summary["cost"] <= bill <= summary["cost_at_most"]


def test_a_server_that_is_down_fails_the_items_as_provider_after_some_tries(
    world: World,
) -> None:
    with socket.socket() as held:
        # Bound and not listening: nobody else can get the port meanwhile.
        held.bind(("127.0.0.1", 0))
        write_keys(world, key("openai", f"http://127.0.0.1:{held.getsockname()[1]}"))
        ended = world.run(*command("openai"))
    assert ended.code == 1, ended.text
    assert set(status_of(world).values()) == {("failed", "provider")}
    for item in "123":
        (line,) = failed_lines(ended, item)
        assert "openai could not be reached" in line
        assert line.endswith("(provider)")
    assert "Traceback" not in ended.text
    assert "is refused" not in ended.stderr
    assert "ready" in world.run("agentos", "keys", "list").stdout


def test_a_model_that_does_not_exist_fails_with_the_words_of_the_provider(
    world: World,
) -> None:
    with serve({**PRICES, "models": ["gpt-6-sol"]}) as server:
        write_keys(world, key("openai", server.url))
        ended = world.run(*command("openai"), "--json")
    assert ended.code == 1
    document = json.loads(ended.stdout)
    assert {(item["class"], item["calls"]) for item in document["items"]} == {
        ("provider", 0)
    }
    assert all(
        "The model `gpt-6-luna` does not exist" in item["message"]
        for item in document["items"]
    )

"""Money is what was billed, caps are the user's own, and whoever waits is told for
what.
"""

from __future__ import annotations

import itertools
import json
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.asking import (
    command,
    key,
    lines_with,
    status_of,
    summary_of,
    write_keys,
)
from tests.scenario import ScenarioProcess
from tests.support import SIGINT, World, wait_until

pytest.importorskip("openai")

PRICES = {"price_input": 3.0, "price_output": 15.0}
UNREACHABLE = "openai could not be reached"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., ScenarioProcess]]:
    """Start servers that end with the test."""
    started: list[ScenarioProcess] = []

    def start(port: int = 0, **script: Any) -> ScenarioProcess:
        server = ScenarioProcess(
            {**PRICES, **script}, tmp_path / f"server-{len(started)}", port=port
        )
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_without_a_connection_nothing_is_spent_and_the_same_command_goes_on_later(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    port = free_port()
    write_keys(world, key("openai", f"http://127.0.0.1:{port}"))
    asking = command("openai", "", "--max-cost", "2")
    ended = world.run(*asking)
    assert ended.code == 1
    assert UNREACHABLE in ended.stdout
    assert "Models: 0 calls, $0.00; nothing was paid for twice." in ended.stdout
    summary = summary_of(world.run_folders[-1])
    assert (summary["cost"], summary["cost_at_most"]) == (0, 0)
    assert {entry["class"] for entry in summary["items"]} == {"provider"}
    serve(port)
    again = world.run(*asking)
    assert again.code == 0, again.text
    assert set(status_of(world).values()) == {("approved", None)}


def test_a_cap_names_what_used_it_up_and_the_command_that_helps(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve(fault=[{"kind": "reset", "purpose": "lld.draft"}])
    write_keys(world, key("openai", server.url))
    ended = world.run(*command("openai", "", "--max-cost-per-day", "1.20", parallel=1))
    (line,) = lines_with(
        ended.stderr, "[COORDINATOR] the cap of $1.20 for today (UTC) is reached"
    )
    assert "$0.00 is spent, up to $" in line
    assert (
        "may have been billed for 2 calls without a whole answer (the last: openai: the"
        in line
    )
    advice = re.search(r"run again with --max-cost-per-day (\d+\.\d+) or more", line)
    assert advice, line
    assert ended.code == 75
    (retry,) = lines_with(
        ended.stdout, "Budget exhausted: ", "Continue with at least: lld-workflow "
    )
    assert "--max-cost-per-day 1.20" not in retry
    server.change(fault=[])
    pasted = retry.partition("Continue with at least: ")[2].split()
    assert pasted[pasted.index("--max-cost-per-day") + 1] == advice[1]
    pasted[pasted.index("--max-cost-per-day") + 1] = "50"
    assert world.run(*pasted).code == 0


def test_what_is_sent_again_after_a_failure_is_counted(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve(
        fault=[{"kind": "reset", "item": "1", "purpose": "lld.draft", "times": 2}]
    )
    write_keys(world, key("openai", server.url))
    ended = world.run(*command("openai"))
    assert ended.code == 0, ended.text
    assert "2 were sent again after a call that may have been billed" in ended.stdout
    assert "nothing was paid for twice" not in ended.stdout
    summary = summary_of(world.run_folders[-1])
    assert summary["calls"]["sent_again_after_a_failure"] == 2
    assert summary["cost"] == pytest.approx(server.ledger.bill(), abs=1e-4)
    assert summary["cost_at_most"] > summary["cost"] + 0.5


def test_after_ctrl_c_summary_and_status_say_the_same(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve(fault=[{"kind": "silence", "purpose": "lld.review"}])
    write_keys(world, key("openai", server.url))
    with world.start(*command("openai")) as running:
        wait_until(
            lambda: len(server.ledger.admitted()) == 6, "three wait for a review"
        )
        running.signal(SIGINT)
        ended = running.finish()
    summary = summary_of(world.run_folders[-1])
    assert summary["cost_at_most"] > summary["cost"] > 0
    said = re.search(r"Models: 3 calls, (\$[\d.]+ to \$[\d.]+);", ended.stdout)
    assert said, ended.stdout
    assert f"{said[1]} spent so far" in world.run("agentos", "status").stdout
    items = json.loads(world.run("agentos", "status", "--json").stdout)["items"]
    for name in ("cost", "cost_at_most"):
        assert sum(item[name] for item in items) == pytest.approx(
            summary[name], abs=1e-5
        )


def test_a_command_that_ends_does_not_open_a_new_purse_for_one_that_runs(
    make_world: Callable[..., World], serve: Callable[..., ScenarioProcess]
) -> None:
    world = make_world(issues=3)
    server = serve(fault=[{"kind": "silence", "item": "1", "purpose": "lld.draft"}])
    write_keys(world, key("openai", server.url))
    capped = command("openai", "", "--max-cost", "9", parallel=1)
    one = tuple(part for part in capped if part != "--all")
    with world.start(*one, "--ids", "1") as running:
        wait_until(
            lambda: bool(server.ledger.admitted()), "the first call is under way"
        )
        assert world.run(*one, "--ids", "2").code == 0
        (chain,) = (path for path in (world.home / "undertakings").glob("*/lld"))
        shared = chain.read_text("ascii")
        assert world.run(*one, "--ids", "3").code == 0
        assert chain.read_text("ascii") == shared
        server.change(fault=[])
        assert running.finish().code == 0
    assert not chain.exists()


HOSTILE = 'price = ["openai:*=0/0"]\nmax_cost = "1000"\nbase_url = ["openai=http://127.0.0.1:9/v1"]\nmax_rounds = 4\n'


def test_a_repository_cannot_cancel_the_users_cap(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve()
    write_keys(world, key("openai", server.url))
    (world.repo / "agentos.toml").write_text(HOSTILE, "utf-8")
    ended = world.run(*command("openai", "", "--max-cost", "0.01"))
    assert ended.code == 75, ended.text
    assert server.ledger.bill() <= 0.01
    assert (
        "[COORDINATOR] this repository sets max_rounds (agentos.toml)" in ended.stderr
    )
    assert (
        "base_url of this repository is not used until you trust agentos.toml: agentos config trust"
        in ended.stderr
    )
    assert (
        "agentos.toml of this repository lowers caps above max_cost = 1000; change it there"
        in ended.stderr
    )


def test_a_repository_may_lower_a_cap_and_raise_a_price(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve()
    write_keys(world, key("openai", server.url))
    settings = world.repo / "agentos.toml"
    settings.write_text('max_cost = "0.01"\n', "utf-8")
    assert world.run(*command("openai", "", "--max-cost", "100")).code == 75
    assert not server.ledger.admitted()
    settings.write_text('price = ["openai:gpt-6-luna=300/1500"]\n', "utf-8")
    ended = world.run(*command("openai"))
    assert ended.code == 0
    assert summary_of(world.run_folders[-1])["cost"] == pytest.approx(
        100 * server.ledger.bill(), rel=1e-3
    )


def test_a_trusted_repository_shares_its_address_until_its_settings_change(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve()
    settings = world.repo / "agentos.toml"
    settings.write_text(f'base_url = ["openai={server.url}/v1"]\n', "utf-8")
    secret = {"OPENAI_API_KEY": "sk-0123456789abcdef0123456789"}
    trusted = world.run("agentos", "config", "trust")
    assert trusted.code == 0
    assert "Trusted until these settings change." in trusted.stdout
    assert world.run(*command("openai"), environ=secret).code == 0
    assert server.ledger.admitted()
    settings.write_text(
        f'base_url = ["openai={server.url}/v1"]\nmax_rounds = 3\n', "utf-8"
    )
    shown = json.loads(world.run("agentos", "config", "--json").stdout)["settings"]
    assert shown["base_url"] == {"value": [], "origin": "default"}


def test_a_key_without_access_to_the_model_lives_on_and_the_next_is_tried(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    barred = {
        "kind": "not-found",
        "key": "sk-first-0123456789abcdef01",
        "status": 403,
        "message": "no access to gpt-6-luna",
    }
    server = serve(fault=[barred])
    write_keys(
        world,
        key("openai", server.url, "sk-first-0123456789abcdef01"),
        key("openai", server.url, "sk-second-0123456789abcdef0"),
    )
    ended = world.run(*command("openai", parallel=1))
    assert ended.code == 0, ended.text
    assert len(lines_with(ended.stderr, "is not used for gpt-6-luna")) == 1
    assert "dead" not in world.run("agentos", "keys").stdout


def test_a_server_that_asks_to_come_again_at_once_is_not_stormed(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve(fault=[{"kind": "rate-limit", "delay": 0.0, "times": 3}])
    write_keys(world, key("openai", server.url))
    ended = world.run(*command("openai", parallel=1))
    assert ended.code == 0, ended.text
    refused = [call.clock for call in server.ledger.calls() if not call.is_admitted]
    waits = [later - earlier for earlier, later in itertools.pairwise(refused)]
    assert len(refused) == 3
    assert all(
        wait >= 0.9 * floor for wait, floor in zip(waits, (1.0, 2.0), strict=True)
    ), waits


def test_a_server_that_is_silent_before_its_first_byte_is_waited_for_and_told_of(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    """Eight of ten minutes, at a fiftieth of the time."""
    server = serve(fault=[{"kind": "silence", "delay": 9.6, "times": 3}])
    write_keys(world, key("openai", server.url))
    ended = world.run(
        *command("openai"),
        environ={"AGENTOS_FIRST_BYTE_TIMEOUT": "12", "AGENTOS_IDLE_TIMEOUT": "2.4"},
    )
    assert ended.code == 0, ended.text
    assert not server.ledger.repeated()
    told = lines_with(
        ended.stderr, "openai:gpt-6-luna has sent nothing for ", "(first_byte_timeout)"
    )
    assert {line.split(":")[0] for line in told} == {
        f"[COORDINATOR] LLD-{number}" for number in (1, 2, 3)
    }


def test_a_server_that_drips_is_let_drip(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    """Longer than both limits in all, never longer than one of them without a byte."""
    server = serve(fault=[{"kind": "slow", "delay": 0.5, "times": 3}])
    write_keys(world, key("openai", server.url))
    ended = world.run(
        *command("openai"),
        environ={"AGENTOS_FIRST_BYTE_TIMEOUT": "3", "AGENTOS_IDLE_TIMEOUT": "2"},
    )
    assert ended.code == 0, ended.text
    assert not server.ledger.repeated()


def test_a_server_with_one_slot_serves_four_items_one_after_the_other(
    make_world: Callable[..., World], serve: Callable[..., ScenarioProcess]
) -> None:
    world = make_world(issues=4)
    server = serve(slots=1, latency=1.0)
    write_keys(world, key("openai", server.url, max_parallel=4))
    ended = world.run(
        *command("openai"),
        environ={"AGENTOS_FIRST_BYTE_TIMEOUT": "20", "AGENTOS_IDLE_TIMEOUT": "2"},
    )
    assert ended.code == 0, ended.text
    assert len(server.ledger.admitted()) == 8
    assert not server.ledger.repeated()
    assert lines_with(ended.stderr, "has sent nothing for ", "(first_byte_timeout)")


def test_a_timeout_ends_the_item_and_the_command(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve(
        fault=[{"kind": "slow", "delay": 1.0, "item": "1", "purpose": "lld.draft"}],
        tokens_per_second=20,
    )
    write_keys(world, key("openai", server.url))
    begun = time.monotonic()
    one = tuple(part for part in command("openai") if part != "--all")
    ended = world.run(*one, "--ids", "1", "--timeout", "15")
    assert ended.code == 1
    assert "timed out after 15 s" in ended.stdout
    assert time.monotonic() - begun < 60
    summary = summary_of(world.run_folders[-1])
    assert summary["cost_at_most"] > 0


def test_what_arrives_while_the_command_is_suspended_is_not_asked_for_again(
    world: World, serve: Callable[..., ScenarioProcess]
) -> None:
    server = serve(latency=1.0)
    write_keys(world, key("openai", server.url))
    patience = {"AGENTOS_FIRST_BYTE_TIMEOUT": "3", "AGENTOS_IDLE_TIMEOUT": "3"}
    with world.start(*command("openai"), environ=patience) as running:
        wait_until(lambda: len(server.ledger.admitted()) == 3, "all are asked")
        running.signal(signal.SIGTSTP)
        wait_until(
            lambda: all(call.is_done for call in server.ledger.admitted()),
            "all are answered",
        )
        running.ends_within(4.0)
        running.signal(signal.SIGCONT)
        ended = running.finish()
    assert ended.code == 0, ended.text
    assert not server.ledger.repeated()


README = Path(__file__).parents[2] / "README.md"


def test_the_commands_of_the_readme_pass_every_check_up_to_the_network(
    world: World,
) -> None:
    (example,) = re.findall(
        r"^lld-workflow .*--drafter .*$", README.read_text("utf-8"), re.MULTILINE
    )
    secrets = {
        "ANTHROPIC_API_KEY": "sk-ant-api03-0123456789abcdefABCDEF0123456789",
        "GEMINI_API_KEY": "AIza0123456789abcdefghijABCDEFGHIJ01234",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
    }
    assert world.run(*example.split(), "--dry-run", environ=secrets).code == 0
    ended = world.run(*example.split(), environ=secrets)
    assert ended.code == 1, ended.text
    assert {entry["class"] for entry in summary_of(world.run_folders[-1])["items"]} == {
        "provider"
    }
    assert "anthropic could not be reached" in ended.stdout
    assert "looks like a placeholder" not in ended.text


@pytest.mark.parametrize(
    ("model", "environ", "said"),
    [
        (
            "openai:gtp-5",
            {"OPENAI_API_KEY": "sk-0123456789abcdef0123456789"},
            "its price is not known",
        ),
        ("openai:gpt-5", {}, "no openai key; set OPENAI_API_KEY"),
    ],
)
def test_a_dry_run_refuses_what_a_run_would_refuse(
    world: World, model: str, environ: dict[str, str], said: str
) -> None:
    for more in ((), ("--dry-run",)):
        ended = world.run(
            "lld-workflow",
            "--all",
            "--drafter",
            model,
            "--reviewer",
            model,
            *more,
            environ=environ,
        )
        assert ended.code == 2
        assert said in ended.stderr
        assert not re.search(r"=\d", ended.stderr), "no figure is made up"

"""Each role has its model and its settings, and each key the models that it serves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentos.gateway.providers.anthropic import AnthropicProvider
from agentos.gateway.providers.complaints import Option
from agentos.gateway.providers.gemini import GeminiProvider
from agentos.gateway.providers.openai import OpenAIProvider
from agentos.gateway.providers.records import BUILT_IN
from tests.commands.test_provider_packages import offer
from tests.scenario import serve
from tests.support import World

for _sdk in ("openai", "genai_prices"):
    pytest.importorskip(_sdk)

FREE = ("--price", "openai:*=0/0")
TELLING = """\
class Telling(Provider):
    def __init__(self, model):
        self.model = model

    async def complete(self, request, credential):
        terms = f"{request.effort or '-'} {request.thinking} {request.temperature}"
        limits = f"{request.max_output_tokens} {request.idle_timeout:g}"
        raise ProviderError(
            f"{request.role} {self.model}: {terms} {limits}",
            cause=FailureCause.BAD_REQUEST,
        )

RECORD = ProviderRecord(name="telling", factory="telling_models:Telling")
"""


def write_keys(world: World, *keys: str) -> None:
    world.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = world.home / "keys.toml"
    path.touch(mode=0o600)
    path.write_text("".join(f"[[key]]\n{key}\n" for key in keys), "utf-8")


def test_two_local_servers_are_each_asked_for_their_own_model(
    make_world: Callable[..., World],
) -> None:
    world = make_world(3)
    with serve({}) as first, serve({}) as second:
        write_keys(
            world,
            f'provider = "openai"\nbase_url = "{first.url}/v1"\nmodels = ["small"]',
            f'provider = "openai"\nbase_url = "{second.url}/v1"\nmodels = ["large*"]',
        )
        models = ("--drafter", "openai:small", "--reviewer", "openai:large-2")
        ended = world.run("lld-workflow", "--all", "--parallel", "3", *models, *FREE)
        assert ended.code == 0, ended.text
        asked = [
            [entry.model for entry in server.ledger.admitted()]
            for server in (first, second)
        ]
    assert asked == [["small"] * 3, ["large-2"] * 3]


def test_a_model_that_no_key_serves_is_refused_before_anything_runs(
    world: World,
) -> None:
    write_keys(
        world,
        'provider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodels = ["small"]',
    )
    for more in ((), ("--dry-run",)):
        ended = world.run(
            "lld-workflow", "--all", "--drafter", "openai:other", *FREE, *more
        )
        assert ended.code == 2
        assert ended.stderr == (
            "lld-workflow: openai:other: no openai key serves this model; add it to the"
            " models of a key in keys.toml\n"
        )


def test_the_start_of_a_run_says_who_has_which_role_and_what_it_may_cost(
    make_world: Callable[..., World],
) -> None:
    world = make_world(1)
    with serve({}) as server:
        environ = {
            "OPENAI_API_KEY": "not-needed",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "AGENTOS_REVIEWER": "openai:judge",
        }
        command = ("lld-workflow", "--all", "--drafter", "openai:writer", *FREE)
        ended = world.run(*command, "--max-cost", "5", environ=environ)
        assert ended.code == 0, ended.text
        assert (
            "[COORDINATOR] drafter openai:writer (flag), reviewer openai:judge"
            " (environment); at most $5.00 (flag)" in ended.stderr
        )
        again = world.run(*command, "--redo", environ=environ)
    assert "; no cap on the cost, --max-cost sets one" in again.stderr


def test_settings_of_a_role_reach_its_calls_alone(
    make_world: Callable[..., World],
) -> None:
    world = offer(make_world(1), "telling", TELLING)
    (world.repo / "agentos.toml").write_text(
        "temperature = 0.3\noutput_limit = {drafter = 9000, reviewer = 8000}\n", "utf-8"
    )
    flags = ("--effort", "drafter=high,reviewer=low", "--thinking", "reviewer=2048")
    ended = replace(world, is_recorded=False).run(
        "lld-workflow", "--all", "--drafter", "telling:a", "--idle-timeout", "7", *flags
    )
    assert ended.code == 1, ended.text
    assert "drafter a: high 0 0.3 9000 7" in ended.stderr
    assert "this repository sets output_limit, temperature" in ended.stderr


def test_a_setting_that_a_provider_lacks_is_said_once_for_each_role(
    make_world: Callable[..., World],
) -> None:
    world = make_world(3)
    with serve({}) as server:
        environ = {
            "OPENAI_API_KEY": "not-needed",
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        flags = ("--thinking", "2048", "--effort", "low", "--temperature", "0")
        ended = world.run(
            "lld-workflow",
            "--all",
            "--drafter",
            "openai:m",
            *flags,
            *FREE,
            environ=environ,
        )
    assert ended.code == 0, ended.text
    said = [line for line in ended.stderr.splitlines() if "is ignored" in line]
    assert sorted(said) == [
        f"[COORDINATOR] {role}: openai has no thinking setting; it is ignored"
        for role in ("drafter", "reviewer")
    ]


def test_the_rules_say_that_they_ignore_a_temperature_of_zero(
    make_world: Callable[..., World],
) -> None:
    flags = ("--temperature", "drafter=0")
    ended = replace(make_world(2), is_recorded=False).run(
        "lld-workflow", "--all", *flags
    )
    said = [line for line in ended.stderr.splitlines() if "is ignored" in line]
    assert said == [
        "[COORDINATOR] drafter: offline has no temperature setting; it is ignored"
    ]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("anthropic", AnthropicProvider.options),
        ("gemini", GeminiProvider.options),
        ("openai", OpenAIProvider.options),
    ],
)
def test_the_record_of_a_provider_lacks_what_its_requests_do_not_have(
    name: str, options: frozenset[Option]
) -> None:
    settings = {
        "effort": Option.EFFORT,
        "thinking": Option.THINKING,
        "temperature": Option.TEMPERATURE,
    }
    lacking = [word for word, option in settings.items() if option not in options]
    assert list(BUILT_IN[name].lacks) == lacking


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--effort", "writer=high"), "'writer' is no role; the roles are drafter,"),
        (("--effort", "HIGH!"), "must be a word such as low, medium or high"),
        (("--thinking", "coder=lots"), "must be a whole number from 0 up"),
        (("--temperature", "3"), "must be a number from 0 to 2"),
        (("--output-limit", "12"), "must be 256 or more"),
        (("--idle-timeout", "reviewer=0"), "must be seconds from above 0"),
    ],
)
def test_a_bad_value_is_one_line(
    world: World, flags: tuple[str, str], words: str
) -> None:
    ended = world.run("lld-workflow", "--all", *flags)
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert words in line


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("models = []", "models must be a list of names"),
        ("models = 'gpt'", "models must be a list of names"),
        ("headers = {Authorization = 'x'}", "must not have authorization"),
        ("headers = {x-team = 3}", "headers must be a table of texts"),
        ("body = {messages = []}", "body must not have messages"),
        ("body = {when = 2026-01-01}", "what JSON can hold"),
        ("api_version = 'v1/../x'", "api_version must be a text such as"),
    ],
)
def test_a_bad_field_of_a_key_is_one_line(world: World, field: str, words: str) -> None:
    write_keys(world, f'provider = "openai"\nkey = "sk-0123456789abcdef"\n{field}')
    ended = world.run("agentos", "keys", "list")
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert "keys.toml, key 1" in line
    assert words in line


def test_a_header_that_is_a_secret_is_redacted_like_a_key(
    make_world: Callable[..., World],
) -> None:
    secret = "hdr-9f8e7d6c5b4a39281706"
    world = make_world(1)
    issue = next((world.repo / "docs/issues").iterdir())
    issue.write_text(f"{issue.read_text('utf-8')}\n{secret}\n", "utf-8")
    with serve({}) as server:
        write_keys(
            world,
            f'provider = "openai"\nbase_url = "{server.url}/v1"\n'
            f'headers = {{x-gateway-token = "{secret}"}}',
        )
        ended = world.run("lld-workflow", "--all", "--drafter", "openai:m", *FREE)
        assert server.ledger.admitted() == []
    assert ended.code == 1, ended.text
    assert secret not in ended.text


def test_prices_are_shown_and_newer_ones_are_taken_from_a_file(
    world: World, tmp_path: Path
) -> None:
    shown = world.run("agentos", "prices", "openai:gpt-5.5", "openai:new-one", "--json")
    assert shown.code == 0, shown.text
    document = json.loads(shown.stdout)
    assert document["models"]["openai:gpt-5.5"]["input"].startswith("$")
    assert document["models"]["openai:new-one"] is None
    assert "as installed" in document["source"]
    newer = tmp_path / "data.json"
    newer.write_text(json.dumps(_price_file("new-one")), "utf-8")
    taken = world.run("agentos", "prices", "openai:new-one", "--refresh", str(newer))
    assert taken.code == 0, taken.text
    assert "openai:new-one  $1.50" in taken.stdout
    planned = world.run(
        "lld-workflow",
        "--all",
        "--dry-run",
        "--drafter",
        "openai:new-one",
        environ={"OPENAI_API_KEY": "sk-0123456789abcdef0123"},
    )
    assert planned.code == 0, planned.text


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"id": "openai"}]', "x" * 1000])
def test_a_file_that_has_no_prices_is_refused_and_nothing_changes(
    world: World, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "data.json"
    path.write_text(text, "utf-8")
    ended = world.run("agentos", "prices", "--refresh", str(path))
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert str(path) in line
    assert not (world.home / "prices.json").exists()


def _price_file(model: str) -> list[dict[str, Any]]:
    """Return a data file of the library with one model a provider."""
    providers = []
    for name in ("anthropic", "google", "openai"):
        prices = {"input_mtok": "1.5", "output_mtok": "6"}
        own = {"id": model, "match": {"equals": model}, "prices": prices}
        providers.append(
            {"id": name, "name": name, "api_pattern": name, "models": [own]}
        )
    return providers

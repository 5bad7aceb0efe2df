"""Generated code is refused without isolation, unless its user allows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.designs import Item, branches, fill
from tests.support import World

PLAIN = {"AGENTOS_SANDBOX": "plain"}
COMMAND = ("implement-workflow", "--all")


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """Return a repository with one design to build."""
    return fill(make_world(issues=0), Item(1))


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_without_isolation_nothing_starts(world: World, more: tuple[str, ...]) -> None:
    ended = world.run(*COMMAND, *more, environ=PLAIN)
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert "not run without bubblewrap, because it could read and change" in line
    assert "AGENTOS_SANDBOX=plain is set; unset it" in line
    assert line.endswith("or accept that with --allow-unsandboxed")
    assert branches(world.repo) == {}


def test_where_bubblewrap_is_missing_its_package_is_named(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho no rights >&2\nexit 1\n", "utf-8")
    (tmp_path / "bwrap").chmod(0o755)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ended = world.run(*COMMAND, environ=path)
    assert ended.code == 2, ended.text
    assert "bubblewrap: does not work here" in ended.stderr
    assert "no rights" in ended.stderr
    assert "apt install bubblewrap" in ended.stderr


def test_with_consent_the_start_and_the_summary_say_so(world: World) -> None:
    ended = world.run(*COMMAND, "--allow-unsandboxed", environ=PLAIN)
    assert (ended.code, "1 implemented" in ended.stdout) == (0, True), ended.text
    warning = "Warning: generated code runs without a sandbox, as you allowed"
    assert warning in ended.stderr
    assert "Generated code ran without a sandbox" in ended.stdout
    assert "plain sandbox does not protect" in ended.text
    merged = world.run("agentos", "trial-merge", environ=PLAIN)
    assert merged.code == 2, merged.text
    assert "accept that with --allow-unsandboxed" in merged.stderr
    allowed = world.run("agentos", "trial-merge", "--allow-unsandboxed", environ=PLAIN)
    assert allowed.code == 0, allowed.text
    assert "ran without a sandbox" in allowed.stdout


def test_a_quiet_run_and_json_say_that_code_was_not_isolated(world: World) -> None:
    consent = {**PLAIN, "AGENTOS_ALLOW_UNSANDBOXED": "true"}
    told = json.loads(world.run(*COMMAND, "--json", environ=consent).stdout)
    assert told["unsandboxed"] is True
    again = world.run(*COMMAND, "--redo", "--quiet", environ=consent)
    assert "Generated code ran without a sandbox" in again.stdout
    isolated = json.loads(world.run(*COMMAND, "--redo", "--json").stdout)
    assert isolated["unsandboxed"] is False


def test_a_repository_cannot_allow_it_even_if_it_is_trusted(world: World) -> None:
    (world.repo / "agentos.toml").write_text("allow_unsandboxed = true\n", "utf-8")
    assert world.run(*COMMAND, environ=PLAIN).code == 2
    trusted = world.run("agentos", "config", "trust").stdout
    assert "allow_unsandboxed = True (never counts in a repository)" in trusted
    ended = world.run(*COMMAND, environ=PLAIN)
    assert ended.code == 2, ended.text
    isolated = world.run(*COMMAND)
    assert isolated.code == 0
    assert "allow_unsandboxed of this repository (agentos.toml) is not used: only" in (
        isolated.stderr
    )


def test_the_user_can_allow_it_in_their_own_file(world: World) -> None:
    world.home.mkdir(mode=0o700, exist_ok=True)
    path = world.home / "config.toml"
    path.write_text("allow_unsandboxed = true\n", "utf-8")
    ended = world.run(*COMMAND, environ=PLAIN)
    assert (ended.code, "1 implemented" in ended.stdout) == (0, True), ended.text

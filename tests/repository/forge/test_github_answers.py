"""Addresses, remotes, tokens and the meaning of answers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.backlog.inbox.forge import render_issue
from agentos.errors import UsageError
from agentos.repository.forge import ForgeRepository, read_repository
from agentos.repository.forge.github import find_repository, read_remote
from agentos.repository.forge.github.address import read_server
from agentos.repository.forge.github.answers import (
    Done,
    Refused,
    RetryLater,
    TemporaryFailure,
    next_page,
    read_answer,
    server_time,
)
from agentos.repository.forge.github.token import find_token
from agentos.repository.forge.remotes import find_origin
from agentos.state.redaction import redact

PUBLIC: dict[str, str] = {}
SHOP = ForgeRepository("github", "acme/shop")


@pytest.mark.parametrize(
    "text",
    [
        "github",
        "github:",
        "github:acme",
        "github:acme/",
        "github:/shop",
        "github:acme/shop/x",
        "github:acme/..",
        "x",
    ],
)
def test_a_malformed_repository_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(UsageError, match="--source: must be github:owner/name"):
        read_repository(text, "--source")


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(UsageError, match="unknown scheme 'gitlab'"):
        read_repository("gitlab:acme/shop", "--source")


@given(st.text(max_size=60))
def test_no_name_of_a_repository_can_lead_elsewhere(text: str) -> None:
    found = find_repository(text)
    if found is not None:
        assert found.name.count("/") == 1
        assert not set(found.name) & set("?#%@: \n\\")
        assert not {"", ".", ".."} & set(found.name.split("/"))


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git",
        "https://somebody:secret@github.com/acme/shop.git/",
        "git@github.com:acme/shop.git",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "git://github.com/acme/shop",
    ],
)
def test_a_remote_on_github_is_known_in_every_form(address: str) -> None:
    assert read_remote(address, PUBLIC) == SHOP


@pytest.mark.parametrize(
    "address",
    [
        "https://gitlab.com/acme/shop",
        "git@example.com:acme/shop.git",
        "/srv/git/shop.git",
        "https://github.com.evil.example/acme/shop",
        "https://github.com/acme",
        "https://[/acme/shop",
        "",
    ],
)
def test_a_remote_elsewhere_is_none(address: str) -> None:
    assert read_remote(address, PUBLIC) is None


def test_a_folder_that_is_no_clone_has_no_origin(tmp_path: Path) -> None:
    assert find_origin(tmp_path, os.environ) is None


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("", "github.com"),
        ("https://api.github.com/", "github.com"),
        ("https://git.example.com/api/v3", "git.example.com"),
        ("http://127.0.0.1:8080", "127.0.0.1"),
    ],
)
def test_the_address_of_the_interface_gives_the_host(address: str, host: str) -> None:
    assert read_server({"GITHUB_API_URL": address}).host == host


@pytest.mark.parametrize(
    "address",
    [
        "ftp://x",
        "api.github.com",
        "https://",
        "https://u:p@x",
        "http://git.example.com",
        "https://[x",
        "https://x:y",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="GITHUB_API_URL"):
        read_server({"GITHUB_API_URL": address})


def test_a_token_comes_from_the_environment_and_is_kept_out_of_texts() -> None:
    environ = {
        "GITHUB_TOKEN": "first-token-0001abcdef",
        "GH_TOKEN": "second-token-0002abcdef",
    }
    token = find_token(environ, "github.com")
    assert token is not None
    assert (token.secret, token.origin) == ("first-token-0001abcdef", "GITHUB_TOKEN")
    assert "first-token" not in redact("x first-token-0001abcdef y")
    assert "first-token" not in repr(token)
    second = find_token({"GH_TOKEN": "second-token-0002abcdef"}, "github.com")
    assert second is not None
    assert second.origin == "GH_TOKEN"


def test_a_token_with_blanks_in_it_is_refused_without_being_told() -> None:
    with pytest.raises(UsageError, match="GITHUB_TOKEN: is not a token") as told:
        find_token({"GITHUB_TOKEN": "has a blank 12345"}, "github.com")
    assert "12345" not in str(told.value)


def _write_gh(folder: Path, text: str) -> dict[str, str]:
    command = folder / "gh"
    command.write_text(f"#!/bin/sh\n{text}\n")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_a_token_is_asked_of_the_command_line_of_github_for_the_right_host(
    tmp_path: Path,
) -> None:
    environ = _write_gh(tmp_path, 'echo "token-$1-$2-$4"')
    token = find_token(environ, "git.example.com")
    assert token is not None
    assert (token.secret, token.origin) == (
        "token-auth-token-git.example.com",
        "`gh auth token`",
    )


@pytest.mark.parametrize(
    "text", ["exit 1", "echo; exit 0", "echo some-token-00001; exit 4"]
)
def test_a_command_line_of_github_without_a_token_gives_none(
    tmp_path: Path, text: str
) -> None:
    assert find_token(_write_gh(tmp_path, text), "github.com") is None


def test_a_command_in_the_working_directory_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_gh(tmp_path, "echo planted-token-0001")
    monkeypatch.chdir(tmp_path)
    assert find_token({"PATH": "."}, "github.com") is None


def test_what_an_answer_means_is_decided_by_status_and_headers() -> None:
    assert isinstance(read_answer(200, {}, "[]", 0), Done)
    assert isinstance(read_answer(502, {}, "<html>", 0), TemporaryFailure)
    assert read_answer(404, {}, '{"message": "Not Found"}', 0) == Refused(
        404, "Not Found"
    )
    assert isinstance(
        read_answer(403, {}, '{"message": "Resource not accessible"}', 0), Refused
    )
    assert read_answer(403, {"retry-after": "9"}, "", 0) == RetryLater(
        9.0, "GitHub asks for a pause"
    )
    exhausted = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "130"}
    assert read_answer(403, exhausted, "", 100.0) == RetryLater(
        31.0, "GitHub's rate limit is reached"
    )
    assert read_answer(
        403, {**exhausted, "x-ratelimit-remaining": "3"}, "{}", 100.0
    ) == Refused(403, "")


def test_the_reset_is_read_by_the_clock_of_the_server() -> None:
    headers = {
        "date": "Thu, 01 Jan 2026 00:00:00 GMT",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": "1767225610",
    }
    answer = read_answer(429, headers, "", now=5.0)
    assert isinstance(answer, RetryLater)
    assert answer.delay == 11.0
    assert server_time({"date": "yesterday"}) is None


@given(
    st.integers(0, 700),
    st.dictionaries(st.sampled_from(["retry-after", "date", "link"]), st.text()),
    st.text(),
)
def test_no_answer_is_too_strange_to_be_read(
    status: int, headers: dict[str, str], body: str
) -> None:
    read_answer(status, headers, body, 0.0)
    next_page(headers)


def test_a_deeply_nested_answer_is_no_answer() -> None:
    assert read_answer(200, {}, "[" * 200_000, 0.0) == Refused(
        0, "the answer is not JSON"
    )


def test_the_next_page_is_a_whole_address_or_none() -> None:
    link = '<https://api.github.com/repositories/1/issues?page=2>; rel="next", <https://x/y?page=5>; rel="last"'
    assert (
        next_page({"link": link})
        == "https://api.github.com/repositories/1/issues?page=2"
    )
    assert next_page({"link": '<@evil.example/x>; rel="next"'}) is None
    assert next_page({}) is None


@given(st.text(max_size=300), st.text(max_size=300))
def test_an_issue_is_text_with_its_heading_first_whatever_is_in_it(
    title: str, body: str
) -> None:
    text = render_issue(42, title, body)
    heading, blank, *_ = text.split("\n")
    assert heading.startswith("# 42 - ")
    assert blank == ""
    assert "\r" not in text
    assert "\0" not in text
    assert text.encode().decode() == text
    assert all(
        character.isprintable() or character.isspace() or ord(character) > 0x9F
        for character in heading
    )


def test_half_a_character_in_a_body_does_no_harm() -> None:
    assert render_issue(1, "a\udc80", "b\ud800") == "# 1 - a?\n\nb?\n"

"""A child inherits the variables on its list and no others."""

from __future__ import annotations

from agentos.state import variables
from agentos.state.variables import GIT_PUSH, INSTALLING_WORKER, WORKER, inherit

LISTS = {
    name: value
    for name, value in vars(variables).items()
    if name.isupper() and isinstance(value, tuple)
}


def test_only_listed_names_and_beginnings_are_inherited() -> None:
    environ = {
        "HOME": "/home/me",
        "LC_ALL": "C",
        "LC_CTYPE": "C",
        "LCD": "no",
        "ANTHROPIC_API_KEY": "secret",
        "GITHUB_TOKEN": "secret",
        "PIP_INDEX_URL": "https://user:secret@packages.example",
        "https_proxy": "http://proxy.example",
    }
    path = {"PATH": "/bin:/usr/bin"}
    locale = {"LC_ALL": "C", "LC_CTYPE": "C"}
    home = {"HOME": "/home/me"}
    assert inherit(WORKER, environ | path) == home | locale | path
    assert inherit(INSTALLING_WORKER, environ | path) == (
        home
        | locale
        | path
        | {name: environ[name] for name in ("PIP_INDEX_URL", "https_proxy")}
    )
    assert inherit(GIT_PUSH, environ | path) == {
        "GITHUB_TOKEN": "secret",
        "https_proxy": "http://proxy.example",
    }


def test_programs_are_never_searched_for_in_the_working_directory() -> None:
    assert inherit(["PATH"], {"PATH": ".:/bin::bin"}) == {"PATH": "/bin"}
    assert inherit(["PATH"], {})["PATH"].startswith("/")


def test_no_list_lets_the_key_of_a_model_through() -> None:
    keys = dict.fromkeys(
        (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "OPENAI_API_KEY",
            "AGENTOS_CREDENTIALS",
        ),
        "secret",
    )
    assert len(LISTS) >= 8
    for names in LISTS.values():
        assert not keys.keys() & inherit(names, keys).keys()

"""Find the token that GitHub is asked with: in the environment, or with GitHub's own command line."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentos.errors import UsageError
from agentos.keys import fingerprint
from agentos.programs import find_program, with_search_path
from agentos.redaction import register_key

VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")
GH_PATIENCE = 5.0
TOKEN_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Token:
    """A token and where it was found."""

    secret: str = field(repr=False)
    origin: str
    """In words for a person who has to replace it."""


def find_token(environ: Mapping[str, str], host: str) -> Token | None:
    """Return the token for a host, None when there is none; from now on it is taken out of all that is shown."""
    for variable in VARIABLES:
        if secret := environ.get(variable, "").strip():
            return _check(Token(secret, variable))
    secret = _ask_gh(environ, host)
    return _check(Token(secret, "`gh auth token`")) if secret else None


def _check(token: Token) -> Token:
    register_key(token.secret, fingerprint("github", token.secret))
    if not (token.secret.isascii() and token.secret.isprintable()) or " " in token.secret:
        raise UsageError(f"{token.origin}: holds something that is no token (blanks or strange characters in it)")
    return token


def _ask_gh(environ: Mapping[str, str], host: str) -> str:
    command = find_program("gh", environ)
    if command is None:
        return ""
    try:
        asked = subprocess.run(
            [command, "auth", "token", "--hostname", host],
            env=with_search_path(environ),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GH_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout[:TOKEN_LIMIT].decode("utf-8", "replace").strip() if asked.returncode == 0 else ""

"""Find the token for GitHub: in the environment, or from `gh`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentos.errors import UsageError
from agentos.state.programs import find_program, with_search_path
from agentos.state.redaction import fingerprint, register_key

VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")
GH_PATIENCE = 5.0
TOKEN_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Token:
    """A token and where it was found."""

    secret: str = field(repr=False)
    origin: str
    """Where it was found, for a message to the user."""


def find_token(environ: Mapping[str, str], host: str) -> Token | None:
    """Return the token for a host, None if there is none; from now on output hides it."""
    for variable in VARIABLES:
        secret = environ.get(variable, "").strip()
        if secret:
            return _check(Token(secret, variable))
    secret = _ask_gh(environ, host)
    if not secret:
        return None
    return _check(Token(secret, "`gh auth token`"))


def _check(token: Token) -> Token:
    secret = token.secret
    register_key(secret, fingerprint("github", secret))
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageError(
            f"{token.origin}: is not a token (it has blanks or unusual characters)"
        )
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
    if asked.returncode != 0:
        return ""
    return asked.stdout[:TOKEN_LIMIT].decode("utf-8", "replace").strip()

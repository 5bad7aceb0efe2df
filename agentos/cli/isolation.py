"""Refuse to run generated code without isolation, before anything is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agentos.backlog.preview import RunOptions
from agentos.proving.sandbox import choose_sandbox


def choose_isolation(options: RunOptions, environ: Mapping[str, str]) -> RunOptions:
    """Return the options with whether generated code is isolated; raise `UsageError` if
    it is not and the user does not allow that.
    """
    if not options.builds:
        return options
    is_allowed = options.config.allow_unsandboxed
    sandbox = choose_sandbox(environ, is_allowed=is_allowed)
    return replace(options, is_unsandboxed=bool(sandbox.weaknesses))

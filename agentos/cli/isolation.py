"""Refuse to run generated code without isolation, before anything is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agentos.backlog.preview import RunOptions
from agentos.errors import UsageError
from agentos.gateway.providers.records import OFFLINE
from agentos.proving.sandbox import choose_sandbox
from agentos.settings import LOOP, SINGLE
from agentos.workflows.prompts.overrides import load_overrides


def choose_isolation(options: RunOptions, environ: Mapping[str, str]) -> RunOptions:
    """Return the options with whether generated code is isolated; raise `UsageError` if
    it is not and the user does not allow that.
    """
    if not options.builds:
        return options
    is_allowed = options.config.allow_unsandboxed
    sandbox = choose_sandbox(environ, is_allowed=is_allowed)
    is_unsandboxed = bool(sandbox.weaknesses)
    writer = _choose_writer(options, is_unsandboxed)
    return replace(
        options,
        is_unsandboxed=is_unsandboxed,
        config=replace(options.config, writer=writer),
    )


def _choose_writer(options: RunOptions, is_unsandboxed: bool) -> str:
    """Return how tests and code are written; commands of a model need a sandbox."""
    config = options.config
    if config.writer == LOOP and is_unsandboxed:
        raise UsageError(
            "--writer loop runs the commands of a model, which needs bubblewrap; install"
            " it, or use --writer single"
        )
    if config.writer:
        return config.writer
    own = load_overrides(options.repository, options.workflow).prompts
    if not own.keys().isdisjoint(("tests", "code")):
        # They are for single answers; those for turns have names of their own.
        return SINGLE
    models = (config.model_of("test_writer"), config.model_of("coder"))
    is_offline = any(model.partition(":")[0] == OFFLINE for model in models)
    return SINGLE if is_unsandboxed or is_offline else LOOP

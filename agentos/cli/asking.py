"""What the models of a command are asked with, and what the repository has a say in."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from agentos.gateway.opening import GivenPrices, Means, gather_means
from agentos.home import Home
from agentos.plan.preview import Options
from agentos.settings import read_repository_settings
from agentos.workflows.overrides import load_overrides

RECORDED = ".agentos/recorded"


def means_of(options: Options, home: Home, environ: Mapping[str, str]) -> Means:
    """Gather keys and prices for the models of a run, or raise `UsageError` saying which of them is missing."""
    addresses = dict(text.split("=", 1) for text in options.base_url)
    prices = GivenPrices.read(options.price, options.price_at_least)
    return gather_means((options.drafter, options.reviewer), environ, home.root, prices, addresses)


def describe_repository(options: Options, home: Home) -> list[str]:
    """Say what the repository decides about the run: settings, prompts, templates and recorded answers."""
    lines = read_repository_settings(options.repository, home.root).describe()
    brought = list(load_overrides(options.repository, options.workflow).paths)
    if f"answers={quote(str(options.repository / RECORDED))}" in options.drafter:
        brought.append(RECORDED)
    return [*lines, f"this repository brings its own {', '.join(brought)}"] if brought else lines

"""`agentos config`: show every setting, its value and where the value comes from."""

from __future__ import annotations

from agentos.cli.command import (
    Arguments,
    Parser,
    add_flag,
    align,
)
from agentos.errors import UsageError
from agentos.settings import PERSONAL, read_repository_settings, show_value
from agentos.state.terminal_text import print_clean
from agentos.state.trust import trust


def add_arguments(parser: Parser) -> None:
    """Add the action and the options."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=["show", "trust"],
        default="show",
        help=(
            "show the settings (default), or trust the prices, addresses and caps of"
            " this repository as if they were your own"
        ),
    )
    parser.add_common_arguments()
    add_flag(parser, "--show-origin", "no effect: origins are always shown")


def run(arguments: Arguments) -> int:
    """Show the settings, or trust those of the repository."""
    if arguments.action == "trust":
        return _trust(arguments)
    home = arguments.home
    values = arguments.resolve({})
    origin = "environment" if "AGENTOS_HOME" in arguments.environ else "default"
    settings = {}
    rows = [("home", str(home.root), origin)]
    for name, value in values.items():
        settings[name] = {"value": value.value, "origin": value.origin}
        rows.append((name, show_value(value.value), value.origin))
    document = {"home": str(home.root), "settings": settings}
    arguments.print_result(document, align(rows))
    return 0


def _trust(arguments: Arguments) -> int:
    """Trust the repository's settings until they change."""
    repository, home = arguments.repository, arguments.home.root
    own = read_repository_settings(repository, home)
    if not own.layers:
        raise UsageError(
            f"{repository}: has no settings to trust; they would be in agentos.toml or"
            " pyproject.toml"
        )
    trust(home, repository, own.values)
    for origin, layer in own.layers:
        for name, value in layer.items():
            never = " (never counts in a repository)" if name in PERSONAL else ""
            print_clean(f"{origin}: {name} = {value!r}{never}\n")
    print_clean("Trusted until these settings change.\n")
    return 0

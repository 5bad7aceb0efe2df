"""Run the items of a workflow command on the console, and print the summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from agentos.backlog.inbox.directory import item_order
from agentos.backlog.preview import Preview, RunOptions, preview_run
from agentos.cli.command import TRY_LATER, Arguments, run_on_console
from agentos.cli.isolation import choose_isolation
from agentos.errors import UsageError
from agentos.gateway.access import ModelAccess
from agentos.gateway.providers import gives_recorded
from agentos.gateway.providers.families import shared_family
from agentos.money import format_dollars, parse_dollars
from agentos.run.batch import run_batch
from agentos.run.console import Console
from agentos.run.item_run import Filer
from agentos.run.recovery import tidy
from agentos.run.report.summary import Summary
from agentos.run.signing import accept_as_they_stand
from agentos.settings import SINGLE, read_repository_settings
from agentos.state.home import repository_key
from agentos.state.terminal_text import clean_text, print_clean
from agentos.state.wording import enumerate_words, utc_now
from agentos.workflows.prompts.overrides import check_overrides, load_overrides

NOTED = ("tests", "tests-loop", "code", "code-loop")
"""The prompts that have a place for a person's note."""

if TYPE_CHECKING:
    from agentos.run.questions import Questions


def execute(options: RunOptions, arguments: Arguments) -> int:
    """Run the items, print the summary last, and return the exit code."""
    if find_spec("langgraph") is None:
        raise UsageError(
            f"langgraph is missing from {sys.executable}; use the Python of the"
            " project's environment"
        )
    home, environ = arguments.home, arguments.environ
    home.check_private()
    check_overrides(options.repository, options.workflow)
    _check_note(options)
    config = options.config
    options = choose_isolation(options, environ)
    access = arguments.find_access(
        list(options.models.values()),
        config.price,
        config.price_at_least,
        config.base_url,
    )
    tidy(home, repository_key(options.repository), options.repository)
    questions = _open_questions(options, arguments)
    if questions is not None:
        questions.take_replies(options.workflow, options.choice.ids, _say)
    preview = preview_run(options, home, environ)
    left_alone = set(preview.collected.items).difference(preview.selection.items)
    for line in accept_as_they_stand(
        options.repository, home, preview.key, sorted(left_alone, key=item_order)
    ):
        print_clean(f"[COORDINATOR] {line}\n", sys.stderr)
    if not preview.selection.items and not preview.selection.rejects:
        code = _report_nothing_to_do(options, preview, as_json=arguments.json)
        # A run that was killed may not have asked all of them.
        return _ask(questions, options, preview, _say) or code
    console = Console(
        color=config.color,
        quiet=arguments.quiet,
        verbose=arguments.verbose,
        prefix=not arguments.no_prefix,
        group=arguments.group,
        only=frozenset(arguments.only),
        json_mode=arguments.json,
        environ=environ,
    )

    def work() -> tuple[int, int | None]:
        _announce(options, access, console, arguments)
        _announce_note(options, preview, console)
        filer = _open_filer(options, preview, console, arguments)
        summary, ending = run_batch(options, preview, access, console, environ, filer)
        code = _exit_code(summary)
        if ending is None:
            unasked = _ask(
                questions,
                options,
                preview,
                lambda text: console.say(text, important=True),
            )
            code = code or unasked
        for text in _render(summary, arguments):
            console.data(clean_text(text).decode())
        return code, ending

    return run_on_console(console, arguments.prog, work)


def _announce(
    options: RunOptions, access: ModelAccess, console: Console, arguments: Arguments
) -> None:
    """Print warnings, and what the repository decides about the run."""
    lines = [f"Warning: {warning}" for warning in access.warnings]
    if options.is_unsandboxed:
        lines.append(
            "Warning: generated code runs without a sandbox, as you allowed: it can read"
            " and change your files and use the network"
        )
    models = options.models
    for role in models:
        family = shared_family(models[role], models["reviewer"])
        if family and role != "reviewer":
            lines.append(
                f"Warning: {role} and reviewer are both {family} and overlook the same"
                " things; name another model with --reviewer"
            )
            break
    settings = read_repository_settings(options.repository, arguments.home.root)
    lines += settings.describe()
    own = list(load_overrides(options.repository, options.workflow).paths)
    if own:
        lines.append(f"this repository brings its own {', '.join(own)}")
    for line in lines:
        console.say(line, important=True)
    if not access.is_offline:
        console.say(describe_models(options), important=True)
        if options.builds and options.config.writer == SINGLE:
            why = "as you or this repository chose"
            if options.is_unsandboxed:
                why = "because commands of a model need bubblewrap"
            console.say(f"tests and code are written in single answers, {why}")
    if access.is_offline:
        what = "rules fill the template"
        if gives_recorded(options.config.drafter):
            what = "recorded answers are used"
        console.say(f"offline: {what}, no model is asked")


def _check_note(options: RunOptions) -> None:
    """Refuse a note that a repository's own prompt would not put before its model."""
    if not options.config.note:
        return
    overrides = load_overrides(options.repository, options.workflow)
    for role, path in zip(overrides.prompts, overrides.paths, strict=False):
        if role in NOTED and not overrides.uses(role, "note"):
            raise UsageError(
                f"{path}: has no place for a note, so its model would not see it; add"
                " note to its first line and {{note}} to its text"
            )


def _announce_note(options: RunOptions, preview: Preview, console: Console) -> None:
    """Say which items a person's note is for."""
    if not options.config.note:
        return
    labels = [item.label for item in preview.selection.items]
    listed = enumerate_words(labels)
    if len(labels) > 1:
        listed = f"all {len(labels)} items: {listed}"
    console.say(f"the note is for {listed}", important=True)


def describe_models(options: RunOptions) -> str:
    """Return which models have which role, where that was set, and the highest cost."""
    config, origins = options.config, options.origins
    named = {}
    for role in ("drafter", "reviewer"):
        if origins.get(role, "default") != "default":
            named[role] = origins[role]
    parts = []
    for role, model in options.models.items():
        origin = origins.get(role, "default")
        if origin == "default":
            # Without a model of its own, a role has that of another one.
            other = "drafter" if "drafter" in named else "reviewer"
            origin = f"as {other}"
        parts.append(f"{role.replace('_', ' ')} {model} ({origin})")
    cap = "no cap on the cost, --max-cost sets one"
    if config.max_cost:
        most = format_dollars(parse_dollars(config.max_cost))
        cap = f"at most {most} ({origins.get('max_cost', 'flag')})"
    return f"{', '.join(parts)}; {cap}"


def _open_filer(
    options: RunOptions, preview: Preview, console: Console, arguments: Arguments
) -> Filer | None:
    if preview.target is None:
        return None
    from agentos.repository.forge.filing.paths import FilingPaths
    from agentos.run.issue_filer import open_issue_filer

    return open_issue_filer(
        preview.target,
        options.file_labels,
        FilingPaths(preview.home, preview.key, options.repository),
        arguments.environ,
        lambda text: console.say(text, important=True),
        console.tell,
    )


def _open_questions(options: RunOptions, arguments: Arguments) -> Questions | None:
    if not options.asks:
        return None
    from agentos.run.questions import open_questions

    return open_questions(
        options.source,
        arguments.home,
        repository_key(options.repository),
        options.repository,
        arguments.environ,
        _say,
        options.command,
    )


def _ask(
    questions: Questions | None,
    options: RunOptions,
    preview: Preview,
    say: Callable[[str], None],
) -> int:
    """Ask what is to be asked on the forge; return the exit code."""
    if questions is None:
        return 0
    wanted = options.choice.ids
    items = preview.collected.items
    if wanted:
        items = tuple(item for item in items if item.id in wanted)
    is_whole = questions.ask(items, say)
    return 0 if is_whole else TRY_LATER


def _say(text: str) -> None:
    # There is no console before a run.
    print_clean(f"[COORDINATOR] {text}\n", sys.stderr)


def _exit_code(summary: Summary) -> int:
    if summary.trouble:
        return 3
    if summary.failed and not summary.is_out_of_money:
        return 1
    if summary.is_unfinished or summary.waiting:
        return TRY_LATER
    return 0


def _report_nothing_to_do(
    options: RunOptions, preview: Preview, *, as_json: bool
) -> int:
    left_out = preview.collected.describe_left_out()
    if left_out:
        print_clean(f"[COORDINATOR] Warning: {left_out}\n", sys.stderr)
    if not as_json:
        print_clean(f"Nothing to do: {preview.selection.describe()}\n")
        return 0
    now = utc_now()
    summary = Summary(
        run="",
        workflow=options.workflow,
        repository=str(options.repository),
        command=options.command,
        started=now,
        finished=now,
        seconds=0.0,
        parallel=options.config.parallel,
        folder="",
        retry=options.retry,
        answer_with=options.answer_with,
        rows=(),
        left_out=preview.collected.left_out_as_json(),
    )
    print(*summary.to_json_text(), sep="", end="")
    return 0


def _render(summary: Summary, arguments: Arguments) -> Iterable[str]:
    if arguments.json:
        return summary.to_json_text()
    if not arguments.quiet:
        return [summary.render()]
    lines = (
        summary.counts_line(),
        summary.unfiled_line(),
        summary.retry_line(),
        summary.waiting_line(),
        summary.sandbox_line(),
        summary.trouble_line(),
    )
    return [f"{line}\n" for line in lines if line]

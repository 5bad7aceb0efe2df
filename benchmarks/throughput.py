"""How much of what rate limits allow do many calls get, and how often are they
refused?
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.askers import COOLDOWN, FIRST_WAIT, LONGEST_WAIT, RETRIES
from benchmarks.figures import Figure, Result, print_result
from benchmarks.load import (
    CALLS,
    CALLS_A_WINDOW,
    ITEMS,
    LATENCY,
    MODELS,
    TOKENS_PER_SECOND,
    WINDOW,
    Limits,
    Question,
    make_items,
    make_limits,
    make_script,
    mean_tokens,
)
from benchmarks.scene import clean_environment
from tests.scenario import Ledger, ScenarioProcess

ROOT = Path(__file__).resolve().parent.parent
ASKERS = 10
MANY_ASKERS = 30
THROUGHPUT = 0.95
REFUSED = 0.02
STRATEGIES = ("simple-shuffle", "usage-based-routing-v2")
PATIENCE = 600.0
METHOD = (
    f"{ITEMS} items with {CALLS} calls each (draft, review, second draft; 1,800 to 3,900 tokens), made one after the "
    f"other by {ASKERS} askers at a time, to a server in its own process with 3 quota groups of one key each. A "
    f"minute lasts {WINDOW:g} s. In that time one group accepts {CALLS_A_WINDOW} requests, one accepts the tokens of "
    f"{CALLS_A_WINDOW} average calls, and the third is limited by both. The server counts over a sliding window: a "
    f"request and its input from its arrival, its output from its end. A call takes {LATENCY:g} s, plus its output "
    f"at {TOKENS_PER_SECOND:,.0f} tokens/s. All figures come from the server's ledger. Time over what the limits ask "
    "for: the calls that a window allows (for each group its requests, or its tokens divided by the mean size of "
    "its calls, whichever is less) divided by the calls that arrived and were answered in a window. This is the "
    "average over all windows of the steady phase, wherever they start; that phase lasts from one window after the "
    "first arrival to one window before the last. With a limit on requests this cannot be below 1, and "
    f"{1 / THROUGHPUT:.3f} is {THROUGHPUT:.0%} of what the limits allow. Over the limit: the most requests "
    "(including refused ones) or tokens of a group in any window, divided by its limit. AgentOS is the real gateway "
    "with pool and journal on disk and the official SDKs, loaded before the start: first with the limits in "
    "keys.toml, then with limits only from the headers of answers, then with Gemini, which reports none, so that "
    "they are learned. Compared with the openai SDK, which uses the keys in turn and after a 429 waits "
    f"{FIRST_WAIT:g} s, doubled up to {LONGEST_WAIT:g} s, half of it random; and with LiteLLM's Router with rpm and "
    f"tpm declared, {RETRIES} retries and a cooldown of {COOLDOWN:g} s, where calls that it gives up are made again "
    "after 1 s. All these times, and the minutes by which LiteLLM counts, are scaled like the minute."
)


@dataclass(frozen=True, slots=True)
class Sight:
    """What the server saw of a run."""

    slowness: float
    """Time in the steady phase over what the limits ask for."""
    refused: float
    """Share of all calls that were answered 429."""
    over: float
    """The most that any window was asked for, over the limit."""
    over_by: Mapping[str, float]
    seconds: float
    """From the first arrival to the end of the last answer."""
    ideal_seconds: float
    """The same if every window were full from the first moment on."""
    answered: int
    refusals: int
    steady_windows: float
    asked: Mapping[str, Any]
    """What the askers say themselves."""


def main() -> int:
    """Print throughput, refusals and excess as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Run ours with limits declared, told and learned, then the others against the same
    server.
    """
    items = make_items()
    limits = make_limits(mean_tokens(items))
    plan = Plan(items, limits)
    with tempfile.TemporaryDirectory(prefix="agentos-benchmark-") as name:
        folder = Path(name)
        ours = {
            "limits declared": plan.run(
                folder / "declared", "gateway", is_declared=True
            ),
            f"limits declared, {MANY_ASKERS} askers": plan.run(
                folder / "many", "gateway", is_declared=True, askers=MANY_ASKERS
            ),
            "limits told by headers": plan.run(folder / "told", "gateway"),
            "limits learned": plan.run(
                folder / "learned", "gateway", provider="gemini"
            ),
        }
        others = {"keys by turns with back-off": plan.run(folder / "turns", "turns")}
        routed, obstacle = run_litellm(plan, folder)
    others |= routed
    figures = [
        figure
        for name, sight in ours.items()
        for figure in _figures(name, sight, others)
    ]
    facts: dict[str, Any] = {
        name: _facts(sight) for name, sight in (ours | others).items()
    }
    if obstacle:
        facts["LiteLLM"] = f"not measured: {obstacle}"
    return Result(__doc__ or "", METHOD, figures, facts)


@dataclass(frozen=True, slots=True)
class Plan:
    """Who is asked what, and within which limits."""

    items: Sequence[Sequence[Question]]
    limits: Sequence[Limits]

    def run(
        self,
        folder: Path,
        way: str,
        *,
        is_declared: bool = False,
        askers: int = ASKERS,
        provider: str = "openai",
        python: str = sys.executable,
        strategy: str = "",
    ) -> Sight:
        """Let askers of one way ask everything of a fresh server."""
        with ScenarioProcess(
            make_script(self.items, self.limits), folder / "server"
        ) as server:
            home = folder / "home"
            home.mkdir(mode=0o700)
            write_keys(
                home / "keys.toml",
                provider,
                server.url,
                self.limits,
                is_declared=is_declared,
            )
            path = folder / "plan.json"
            told = {
                "items": [
                    [asdict(question) for question in item] for item in self.items
                ],
                "keys": [
                    asdict(group) | {"secret": group.secret} for group in self.limits
                ],
                "url": server.url,
                "provider": provider,
                "model": MODELS[provider],
                "askers": askers,
                "window": WINDOW,
                "strategy": strategy,
            }
            path.write_text(json.dumps(told), "utf-8")
            environ = clean_environment(folder) | {"AGENTOS_RATE_WINDOW": str(WINDOW)}
            with (folder / "said.txt").open("wb") as said:
                ended = subprocess.run(
                    [python, "-m", "benchmarks.askers", way, str(path)],
                    cwd=ROOT,
                    env=environ,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    timeout=PATIENCE,
                    check=False,
                )
            if ended.returncode != 0:
                raise RuntimeError(
                    f"{way} ended with {ended.returncode}: {(folder / 'said.txt').read_text()[-2000:]}"
                )
            return observe(server.ledger, self.limits, json.loads(ended.stdout))


def write_keys(
    path: Path, provider: str, url: str, limits: Sequence[Limits], *, is_declared: bool
) -> None:
    """Write a key file, with or without what the groups are limited to."""
    base_url = f"{url}/v1" if provider == "openai" else url
    tables = []
    for group in limits:
        table = f'[[key]]\nprovider = "{provider}"\nkey = "{group.secret}"\n'
        table += f'group = "{group.name}"\nbase_url = "{base_url}"\n'
        if is_declared:
            table += f"requests_per_minute = {group.requests}\ntokens_per_minute = {group.tokens}\n"
        tables.append(table)
    path.write_text("\n".join(tables), "utf-8")
    path.chmod(0o600)


def observe(
    ledger: Ledger, limits: Sequence[Limits], asked: Mapping[str, Any]
) -> Sight:
    """Work out of a ledger how well its limits were used."""
    admitted = sorted(ledger.admitted(), key=lambda entry: entry.clock)
    first, last = admitted[0].clock, admitted[-1].clock
    begin, end = first + WINDOW, last - WINDOW
    fill = a_window = 0.0
    for group in limits:
        own = [
            entry
            for entry in admitted
            if entry.group == group.name and begin <= entry.clock < end
        ]
        sizes = [entry.input_tokens + entry.output_tokens for entry in own]
        a_window += group.allowed(sum(sizes) / len(sizes)) if sizes else group.requests
        fill += average_fill([entry.clock for entry in own], begin, end)
    peaks = {group.name: ledger.most_in_window(group.name) for group in limits}
    over = {
        f"{group.name}, requests": peaks[group.name].offered / group.requests
        for group in limits
    }
    over |= {
        f"{group.name}, tokens": peaks[group.name].tokens / group.tokens
        for group in limits
    }
    refusals = [entry for entry in ledger.calls() if entry.status == 429]
    return Sight(
        slowness=a_window / fill,
        refused=ledger.rejected_share(),
        over=max(over.values()),
        over_by=over,
        seconds=max(entry.done_clock or 0.0 for entry in admitted) - first,
        ideal_seconds=(len(admitted) / a_window - 1) * WINDOW,
        answered=len(admitted),
        refusals=len(refusals),
        steady_windows=(end - begin) / WINDOW,
        asked=asked,
    )


def average_fill(times: Sequence[float], begin: float, end: float) -> float:
    """Return how many of these times a window between begin and end has on average,
    over all places it can be at.
    """
    in_windows = sum(
        max(0.0, min(time + WINDOW, end) - max(time, begin + WINDOW)) for time in times
    )
    return in_windows / (end - begin - WINDOW)


def run_litellm(plan: Plan, folder: Path) -> tuple[dict[str, Sight], str]:
    """Run LiteLLM's Router with each strategy; say what could not be measured, and
    why.
    """
    place = folder / "environment"
    python = str(place / "bin" / "python")
    try:
        for command in (
            [sys.executable, "-m", "venv", str(place)],
            [python, "-m", "pip", "install", "-q", "litellm"],
        ):
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    except (OSError, subprocess.SubprocessError) as error:
        return {}, f"it could not be installed ({type(error).__name__})"
    sights = {}
    for strategy in STRATEGIES:
        try:
            sights[f"LiteLLM, {strategy}"] = plan.run(
                folder / strategy, "litellm", python=python, strategy=strategy
            )
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return sights, f"{strategy} did not come to its end ({str(error)[-300:]})"
    return sights, ""


def _figures(name: str, sight: Sight, others: Mapping[str, Sight]) -> list[Figure]:
    fastest = min(others, key=lambda other: others[other].slowness)
    least_refused = min(others, key=lambda other: others[other].refused)
    nearest = min(others, key=lambda other: others[other].over)
    note = f"{1 / sight.slowness:.1%} of what the limits allow"
    # A limit that nobody tells is only found by reaching it.
    most = None if name.endswith("learned") else 1.0
    return [
        Figure(
            f"time over what the limits ask for, {name}",
            sight.slowness,
            "x",
            1 / THROUGHPUT,
            others[fastest].slowness,
            fastest,
            note,
        ),
        Figure(
            f"calls answered 429, {name}",
            sight.refused * 100,
            "%",
            REFUSED * 100,
            others[least_refused].refused * 100,
            least_refused,
            f"{sight.refusals} of {sight.answered + sight.refusals}",
        ),
        Figure(
            f"most in any window over the limit, {name}",
            sight.over,
            "x",
            most,
            others[nearest].over,
            nearest,
        ),
    ]


def _facts(sight: Sight) -> dict[str, Any]:
    return {
        "throughput": round(1 / sight.slowness, 3),
        "429_share": round(sight.refused, 4),
        "seconds": round(sight.seconds, 2),
        "ideal_seconds": round(sight.ideal_seconds, 2),
        "answered": sight.answered,
        "refused": sight.refusals,
        "steady_windows": round(sight.steady_windows, 2),
        "over_the_limit": {
            name: round(value, 3) for name, value in sight.over_by.items()
        },
        "given_up_by_the_router": sight.asked["given_up"],
        "askers_cpu_seconds": round(sight.asked["cpu_seconds"], 2),
    }


if __name__ == "__main__":
    raise SystemExit(main())

"""Give hostile ids on the command line: one line, exit 2, and nothing is made."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.figures import Figures, main
from tests.faults.scene import make_world

IDS = (
    *(
        "../1",
        "../../etc/passwd",
        "/etc/passwd",
        "1/../../2",
        "..",
        ".",
        "./1",
        "1/",
        "~",
        "~root",
        "1\n",
        "\n1",
    ),
    *(
        "a b",
        " 1",
        "1 ",
        "-rf",
        "--ids",
        "-",
        "1;id",
        "$(id)",
        "`id`",
        "1|id",
        "1&id",
        "a'b",
        'a"b',
        "*",
        "?",
        "1\t",
    ),
    *(
        "CON",
        "nul",
        "com1",
        "LPT9",
        "aux",
        "x" * 65,
        "9" * 5000,
        "\x1b[2J",
        "\x1b]0;t\x07",
        "1\r",
        "\x7f",
        "\x9b2J",
    ),
    *(
        "\u202e1",
        "\u200b1",
        "\u0661",
        "\uff11",
        "é",
        "%2e%2e",
        "1\\2",
        "C:1",
        "a\udcffb",
        "",
        " ",
        "1\x0b2",
    ),
)
ALLOWED = set(map(chr, range(0x20, 0x7F))) | {"\n"}


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Try so many of the ids, in a random order."""
    figures = Figures("hostile_ids", seed, count, {"refused": 0})
    world = make_world(folder, 1)
    chosen = random.Random(seed).sample(IDS, min(count, len(IDS)))
    for text in chosen:
        finished = world.run("lld-workflow", f"--ids={text}")
        where = f"id {text[:40]!a}"
        figures.expect(
            finished.code == 2,
            f"{where}: ended with {finished.code}: {finished.text[:300]!a}",
        )
        figures.expect(
            finished.stdout == "", f"{where}: printed {finished.stdout[:200]!a}"
        )
        is_one_line = finished.stderr.count("\n") == 1 and finished.stderr.endswith(
            "\n"
        )
        figures.expect(is_one_line, f"{where}: said {finished.stderr[:300]!a}")
        controls = {
            c
            for c in finished.stderr
            if (ord(c) < 0xA0 or c == "\u202e") and c not in ALLOWED
        }
        figures.expect(not controls, f"{where}: said {finished.stderr[:300]!a}")
        figures.expect(
            len(finished.stderr) < 1000,
            f"{where}: said {len(finished.stderr)} characters",
        )
        figures.expect(not world.home.exists(), f"{where}: a home was made")
        figures.add("refused", finished.code == 2)
    return figures


if __name__ == "__main__":
    raise SystemExit(main(measure, len(IDS)))

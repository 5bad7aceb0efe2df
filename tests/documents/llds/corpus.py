"""Every text with the ids that the rules must report, no more and no less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BASE = (HERE / "base.md").read_text("utf-8")
ISSUE = (HERE / "issue.md").read_text("utf-8")
LOG = (HERE / "log.md").read_text("utf-8")
LOGGED = BASE.rstrip() + "\n" + LOG
UNCITED = (
    BASE.replace("| ID | Requirement |", "| ID |")
    .replace("|-----|-------------|", "|-----|")
    .replace("| 010 | R1 |", "| 010 |")
    .replace("| 020 | R2 | Second scan |", "| 020 | Crate that has a label |")
    .replace("| 030 | R3 |", "| 030 |")
    .replace("| 040 | R1, R3 |", "| 040 |")
    .replace(
        "| Label in time | Auto | one scan |",
        "| Label in time | Auto | one scanned crate |",
    )
)
FILES = frozenset(
    {
        "depot",
        "depot/scanner.py",
        "depot/crates.py",
        "tests",
        "tests/test_scanner.py",
        "README.md",
    }
)
LONG_RISKS = BASE.replace(
    "| The printer jams | Med | Med | The queue keeps the label |",
    "\n".join(
        f"| Risk number {n} of the depot | Low | Low | Watched by rota {n} |"
        for n in range(1, 16)
    ),
)


@dataclass(frozen=True)
class Files:
    """A tree made of names."""

    paths: frozenset[str] = FILES

    def exists(self, path: str) -> bool:
        return path in self.paths

    def names(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        inner = {
            path.removeprefix(start).partition("/")[0]
            for path in self.paths
            if path.startswith(start)
        }
        return sorted(inner)


@dataclass(frozen=True)
class Case:
    """A text with what it was made from and what must be found."""

    name: str
    text: str
    expected: frozenset[str]
    previous: str | None = None
    tree: Files | None = None


CASES: list[Case] = []


def add(
    name: str,
    text: str,
    *expected: str,
    previous: str | None = None,
    tree: Files | None = None,
) -> None:
    CASES.append(Case(name, text, frozenset(expected), previous, tree))


def edit(*pairs: tuple[str, str], base: str = BASE) -> str:
    """Return the text with each first occurrence replaced; all must be there."""
    for old, new in pairs:
        assert old in base, old
        base = base.replace(old, new, 1)
    return base


def section(number: int, base: str = BASE) -> str:
    """Return the text of one section."""
    start = base.index(f"## {number}. ")
    end = base.find(f"\n## {number + 1}. ")
    return base[start : end + 1 if end >= 0 else len(base)]


def fenced(text: str, mark: str = "```", info: str = "markdown") -> str:
    return f"{mark}{info}\n{text.rstrip()}\n{mark}\n"


def headings(change: Callable[[int, str], str], base: str = BASE) -> str:
    """Rewrite the headings of the twelve sections."""
    rows = []
    for row in base.split("\n"):
        number, _, title = row.removeprefix("## ").partition(". ")
        rows.append(
            change(int(number), title)
            if row.startswith("## ") and number.isdecimal()
            else row
        )
    return "\n".join(rows)


ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]

# Nothing is wrong with these.
add("clean", BASE)
add("with a log", LOGGED)
add("without citations", UNCITED)
add("crlf", BASE.replace("\n", "\r\n"))
add("byte order mark", "\ufeff" + BASE)
add("crlf and byte order mark", "\ufeff" + BASE.replace("\n", "\r\n"))
add("no last newline", BASE.rstrip())
add("blank lines around", "\n\n\n" + BASE + "\n\n\n")
add("doubled blank lines", BASE.replace("\n\n", "\n\n\n"))
add("trailing spaces", BASE.replace("\n", "  \n"))
add("fence around", fenced(BASE))
add("md fence around", fenced(BASE, info="md"))
add("bare fence around", fenced(BASE, info=""))
add("longer fence around", fenced(BASE, mark="`````"))
add("tilde fence around", fenced(BASE, mark="~~~"))
add("fence around with a log", fenced(LOGGED))
add("greeting", "Here is the LLD:\n\n" + BASE)
add(
    "greeting of two paragraphs",
    "Sure!\n\nI have written the design for issue 51.\n\n" + BASE,
)
add("greeting and fence", "Certainly. Here's the design:\n\n" + fenced(BASE))
add("farewell", BASE + "\nLet me know if you want changes.\n")
add("rule and farewell", BASE + "\n---\n\nI hope this helps! Feel free to ask.\n")
add(
    "greeting, fence and farewell",
    "Okay, here it is.\n" + fenced(BASE) + "\nWould you like me to add more tests?\n",
)
add("fence and a remark", fenced(BASE) + "\nThis design covers all three criteria.\n")
add(
    "thoughts first",
    "<thinking>\nThe issue wants labels.\n# a plan\n</thinking>\n\n" + BASE,
)
add("numbers with a bracket", headings(lambda n, t: f"## {n}) {t}"))
add("numbers with a colon", headings(lambda n, t: f"## {n}: {t}"))
add("numbers with a dash", headings(lambda n, t: f"## {n} - {t}"))
add("the word section", headings(lambda n, t: f"## Section {n}: {t}"))
add("bold headings", headings(lambda n, t: f"## **{n}. {t}**"))
add("bold titles", headings(lambda n, t: f"## {n}. **{t}**"))
add("titles only", headings(lambda _, t: f"## {t}"))
add("roman numbers", headings(lambda n, t: f"## {ROMAN[n - 1]}. {t}"))
add("shifted numbers", headings(lambda n, t: f"## {n + 1}. {t}"))
add("all numbered one", headings(lambda _, t: f"## 1. {t}"))
add("closed headings", headings(lambda n, t: f"## {n}. {t} ##"))
add("ampersands spelled out", headings(lambda n, t: f"## {n}. {t.replace('&', 'and')}"))
add("capital headings", headings(lambda n, t: f"## {n}. {t.upper()}"))
add(
    "sections at level three",
    headings(lambda n, t: f"### {n}. {t}", BASE.replace("\n### ", "\n#### ")),
)
add("sections at level one", headings(lambda n, t: f"# {n}. {t}"))
add("one section deeper", edit(("## 9. Legal", "### 9. Legal")))
add(
    "unknown titles with numbers",
    edit(("## 4. Alternatives Considered", "## 4. What else we thought of")),
)
add(
    "title as setext",
    edit(
        ("# 51 - Feature: Print", "51 - Feature: Print"),
        ("scanner\n", "scanner\n=====\n"),
    ),
)
add(
    "table without outer pipes",
    edit(
        (
            "| The printer jams | Med | Med | The queue keeps the label |",
            "x | Med | Med | y",
        )
    ),
)
add(
    "aligned table",
    edit(
        (
            "|------|--------|------------|------------|",
            "|:-----|:------:|-----------:|------------|",
        )
    ),
)
add("wide table", BASE.replace(" | ", "   |   "))
add(
    "narrow table",
    edit(
        (
            "| Scan to label | 3 s | One job at a time |",
            "|Scan to label|3 s|One job at a time|",
        )
    ),
)
add("pipe in a code span", edit(("| The printer jams |", "| The printer `a|b` jams |")))
add(
    "requirements with ids",
    edit(
        ("1. Every", "- **R1:** Every"),
        ("2. A crate", "- R2: A crate"),
        ("3. An", "- REQ-3: An"),
    ),
)
add(
    "requirements in a table",
    edit(
        (
            section(3),
            "## 3. Requirements\n\n| ID | Requirement |\n|---|---|\n"
            + "".join(
                f"| R{n} | {text} |\n"
                for n, text in enumerate(
                    (
                        "Every scanned crate gets one label within 3 seconds",
                        "A crate that has a label is not printed again",
                        "An empty roll is shown on the scanner and loses no label",
                    ),
                    1,
                )
            )
            + "\n",
        )
    ),
)
add(
    "requirements as bullets",
    edit(("1. Every", "- Every"), ("2. A crate", "- A crate"), ("3. An", "- An")),
)
add(
    "citations with other marks", edit(("| 040 | R1, R3 |", "| 040 | `R1` & REQ-003 |"))
)
add("citations by number", edit(("| 040 | R1, R3 |", "| 040 | 1; 3 |")))
add("citations as a range", edit(("| 040 | R1, R3 |", "| 040 | R1-R3 |")))
for _cited in (
    "R1 (see above), R3",
    "3.1, 3.3",
    "All",
    "R1..R3",
    "R1 to R3",
    "R1: in time; R3",
    "Section 3.3",
):
    add(
        f"citations such as {_cited}", edit(("| 040 | R1, R3 |", f"| 040 | {_cited} |"))
    )
for _header in (
    "| No. | Requirement | Test |",
    "| Test | Requirement | Scenario |",
    "| Nr | Requirement | Test Case |",
):
    add(
        f"scenarios under {_header}", edit(("| ID | Requirement | Scenario |", _header))
    )
for _header in (
    "| Area | Options | Choice | Rationale |",
    "| Topic | Options | Decision | Justification |",
):
    add(
        f"decisions under {_header}",
        edit(("| Decision | Options Considered | Choice | Rationale |", _header)),
    )
_FIELDS = "| Field | Value |\n|---|---|\n| Issue | #51 |\n| **Status** | Draft |\n| Related Issues | #48 |\n"
_FACTS = BASE[BASE.index("* **Issue:**") : BASE.index("### Open Questions")]
add("the status in a table", edit((_FACTS, _FIELDS + "\n")))
add(
    "the status as head of a table",
    edit((_FACTS, "| Status | Draft |\n|---|---|\n| Issue | #51 |\n\n")),
)
add(
    "the status as a column",
    edit(
        (
            _FACTS,
            "| Issue | Status | Owner |\n|---|---|---|\n| #51 | Draft | depot |\n\n",
        )
    ),
)
add("sections in bold", headings(lambda n, t: f"**{n}. {t}**"))
add("sections in bold with a colon", headings(lambda n, t: f"**{n}. {t}:**"))
add(
    "one section in bold",
    edit(("## 9. Legal & Compliance", "**9. Legal & Compliance**")),
)
add(
    "all headings in bold",
    headings(
        lambda n, t: f"**{n}. {t}**",
        "".join(
            f"**{row[4:].strip()}**\n"
            if row.startswith("### ") and row[4].isdigit()
            else row
            for row in BASE.splitlines(keepends=True)
        ),
    ),
)
add(
    "a section named in bold",
    edit(("No new package.", "See\n\n**3. Requirements**\n\nfor why.")),
)
for _title in ("Output Format", "Instructions", "Issue"):
    add(
        f"a part called {_title}",
        edit(("## 7. ", f"## {_title}\n\nOne label a line.\n\n## 7. ")),
    )
add(
    "a part called Prompt between bare titles",
    headings(
        lambda _, t: f"## {t}",
        edit(("## 7. ", "## Prompt\n\nThe scanner asks once.\n\n## 7. ")),
    ),
)
add(
    "an appendix of its own",
    BASE + "\n## Appendix: Words\n\nA crate is what the belt carries.\n",
)
add("a stamp", BASE + "\n<!-- agentos item=51 -->\n")
add(
    "a quoted placeholder",
    edit(("No new package.", "Lines with `TODO` and `<path>` stay as they are.")),
)
add(
    "a link that describes",
    edit(
        ("No new package.", "See [describe](https://example.org) and [your team][1].")
    ),
)
add(
    "an arrow in a comment's place",
    edit(("No new package.", "No new package. a --> b")),
)
add("a revision of itself", BASE, previous=BASE)
add(
    "a revision with renumbered subsections",
    edit(("### 2.6 Technical", "### 2.8 Technical")),
    previous=BASE,
)
add(
    "a small section rewritten",
    edit(("No personal data is stored.", "None.")),
    previous=BASE,
)
add("paths that exist", BASE, tree=Files())
add(
    "sections swapped",
    edit((section(4), ""), (section(5), section(5) + section(4))),
)
add("no status", edit(("* **Status:** Draft\n", "")))
add("a citation in words", edit(("| 020 | R2 |", "| 020 | R2, speed |")))
add(
    "a dash that the criteria explain",
    edit(("twice | one label |", "twice | - |")),
)
for _value in ("None", '""', "0", "[]", "{}", "False", "''", "an empty string", "``"):
    add(
        f"the value {_value}",
        edit(("| the same crate twice | one label |", f"| {_value} | {_value} |")),
    )
add(
    "a path twice in the same way",
    edit(("`tests/test_labels.py` | Add", "`./depot/labels.py` | Add")),
)
add(
    "a new folder",
    edit(("`depot/labels.py` | Add", "`printing/labels.py` | Add")),
    tree=Files(),
)
add(
    "a new inner folder",
    edit(("`depot/labels.py` | Add", "`depot/print/labels.py` | Add")),
    tree=Files(),
)
add(
    "a declared package",
    edit(
        (
            "| `tests/test_labels.py` |",
            "| `test/__init__.py` | Add | x |\n| `test/test_labels.py` |",
        )
    ),
    tree=Files(),
)
add("a pattern of paths", edit(("`depot/scanner.py`", "`depot/*.py`")), tree=Files())
add("another word for a change", edit(("| Modify |", "| Update |")), tree=Files())

# Each of these has the named flaws.
for _n, _title in enumerate(
    (
        "Context",
        "Proposed",
        "Requirements",
        "Alternatives",
        "Data",
        "Diagram",
        "Security",
        "Performance",
        "Legal",
    ),
    1,
):
    _more = {
        1: (),
        2: (),
        3: (),
    }.get(_n, ())
    if _n == 1:
        add("without section 1", edit((section(1), "")), "missing-section-1")
    elif _n == 3:
        _cites = tuple(f"unknown-requirement-0{n}0" for n in (1, 2, 3, 4))
        add(
            "without section 3",
            edit((section(3), "")),
            "missing-section-3",
            *_more,
            *_cites,
        )
    else:
        add(f"without section {_n}", edit((section(_n), "")), f"missing-section-{_n}")
add(
    "without section 10",
    edit((section(10), "")),
    "missing-section-10",
)
add("without section 11", edit((section(11), "")), "missing-section-11")
add("without section 12", edit((section(12), "")), "missing-section-12")
add(
    "empty section 4",
    edit((section(4), "## 4. Alternatives Considered\n\n")),
    "empty-section-4",
)
add(
    "section of a rule only",
    edit(("No personal data is stored.", "---")),
    "empty-section-9",
)
add(
    "section of a comment only",
    edit(("No personal data is stored.", "<!-- later -->")),
    "empty-section-9",
)
add(
    "a section twice",
    edit(("## 10. Ver", section(9) + "\n## 10. Ver")),
    "repeated-section-9",
)
add(
    "no title",
    edit(("# 51 - Feature: Print shelf labels from the scanner\n", "")),
    "title",
)
add(
    "uncovered",
    edit(("| 040 | R1, R3 |", "| 040 | R1 |"), ("| 030 | R3 |", "| 030 | R1 |")),
    "uncovered-R3",
)
add(
    "unknown citation",
    edit(("| 020 | R2 |", "| 020 | R2, R9 |")),
    "unknown-requirement-020",
)
add(
    "uncovered by words",
    edit(
        (
            "| 030 | Empty roll | Auto | scan without paper | `roll empty` on the display | label "
            "printed after the change |\n",
            "",
        ),
        base=UNCITED,
    ),
    "hint-uncovered-R3",
)
add(
    "a criterion left out",
    edit(
        ("2. A crate that has a label is not printed again\n", ""),
        ("3. An empty", "2. An empty"),
        ("| 030 | R3 |", "| 030 | R2 |"),
        ("R1, R3", "R1"),
    ),
    "hint-criterion-2",
)
add(
    "a requirement id twice",
    edit(
        ("1. Every", "- R1: Every"),
        ("2. A crate", "- R2: A crate"),
        ("3. An", "- R2: An"),
        ("| 030 | R3 |", "| 030 | R2 |"),
        ("R1, R3", "R1"),
    ),
    "repeated-requirement-R2",
)
add(
    "no requirement at all",
    edit((section(3), "## 3. Requirements\n\nLabels, quickly.\n\n")),
    "no-requirements",
    "hint-criterion-1",
    "hint-criterion-2",
    "hint-criterion-3",
    *(f"unknown-requirement-0{n}0" for n in (1, 2, 3, 4)),
)
add("a scenario id twice", edit(("| 020 |", "| 010 |")), "scenario-id-010")
add("an empty scenario id", edit(("| 020 |", "|  |")), "scenario-id-empty")
add(
    "no expected result",
    edit(("| the same crate twice | one label |", "| the same crate twice |  |")),
    "no-expected-020",
)
add(
    "a dash as expected result",
    edit(("twice | one label | counter stays at 1", "twice | - | n/a")),
    "no-expected-020",
)
add(
    "dots as expected result",
    edit(("twice | one label | counter stays at 1", "twice | ... |  ")),
    "no-expected-020",
)
add(
    "no scenarios",
    edit(
        ("| ID | Requirement | Scenario", "| Thing | Requirement | Story"),
        ("Expected Output | Pass Criteria", "Answer | Remark"),
    ),
    "no-scenarios",
)
add(
    "no files", edit(("| File | Change Type |", "| Thing | Kind of work |")), "no-files"
)
add(
    "no rationale",
    edit(("| Disk | A power cut must not lose one |", "| Disk |  |")),
    "no-rationale-where-labels-wait",
)
add(
    "a rationale of n/a",
    edit(("| Queue | The driver cannot see the roll |", "| Queue | N/A |")),
    "no-rationale-who-retries",
)
add("a short row", edit(("| the same crate twice |", "|")), "table-10")
add("a long row", edit(("| Scan to label |", "| Scan | to label |")), "hint-table-8")
add(
    "a rule too narrow",
    edit(("|------|--------|------------|------------|", "|------|--------|")),
    "table-11",
)
for _word in (
    "TBD",
    "TODO: find out",
    "FIXME",
    "to be decided",
    "[describe the rules]",
    "<path>",
    "see path/to/module",
    "[your text here]",
    "Lorem ipsum dolor",
    "Found: ___",
    "<description>",
    "no TODO is left",
    "XXX-XXX",
):
    add(
        f"the word {_word}",
        edit(("No personal data is stored.", f"Stored: {_word}")),
        "hint-placeholder-9",
    )
add(
    "a line of the template",
    edit(("No personal data is stored.", "<fill in: what is stored>")),
    "unfilled-9",
)
add(
    "the title of the template",
    edit(("Print shelf labels from the scanner", "<fill in: what will be different>")),
    "unfilled-0",
)
add(
    "a sample path",
    edit(("`depot/labels.py` | Add", "`path/to/labels.py` | Add")),
    "sample-path-path/to/labels.py",
)
for _path in (
    "/etc/passwd",
    "../outside.py",
    "~/x.py",
    "C:\\x.py",
    ".git/hooks/pre-commit",
    "depot/../../x.py",
):
    add(
        f"unsafe path {_path}",
        edit(("`depot/labels.py` | Add", f"`{_path}` | Add")),
        "path-1",
    )
add(
    "a path twice in two ways",
    edit(("`tests/test_labels.py` | Add", "`./depot/labels.py` | Delete")),
    "repeated-path-depot/labels.py",
)
add(
    "a path that does not exist",
    edit(("`depot/scanner.py` |", "`depot/reader.py` |")),
    "absent-path-depot/reader.py",
    tree=Files(),
)
add(
    "a mistyped path",
    edit(("`depot/scanner.py` |", "`depot/scaner.py` |")),
    "absent-path-depot/scaner.py",
    tree=Files(),
)
add(
    "a mistyped folder",
    edit(("`depot/labels.py` | Add", "`deopt/labels.py` | Add")),
    "hint-folder-path-deopt/labels.py",
    tree=Files(),
)
add(
    "a folder in the singular",
    edit(("`tests/test_labels.py`", "`test/test_labels.py`")),
    "hint-folder-path-test/test_labels.py",
    tree=Files(),
)
add(
    "adding what exists",
    edit(("`depot/labels.py` | Add", "`depot/crates.py` | Add")),
    "existing-path-depot/crates.py",
    tree=Files(),
)
add(
    "deleting what does not exist",
    edit(("`depot/scanner.py` | Modify", "`depot/old.py` | Delete")),
    "absent-path-depot/old.py",
    tree=Files(),
)
add("a credential", edit(("No new package.", "Key: sk-" + "a1B2" * 8)), "secret")
add("too large", edit(("No new package.", "x" * 400_001)), "size")
add(
    "an issue after the log",
    LOGGED + "\n## Original GitHub Issue #51\n\n" + ISSUE,
    "hint-echo",
)
add("an issue after section 12", BASE + "\n## Original Issue\n\n" + ISSUE, "hint-echo")
add(
    "an issue without a heading of its own",
    BASE + "\n# Issue #51: Print shelf labels\n\n" + ISSUE.split("\n", 2)[2],
    "hint-echo",
)
add(
    "an issue under another name",
    BASE + "\n## For reference\n\n" + ISSUE[ISSUE.index("Numbers are") :],
    "hint-echo",
)
add(
    "an issue after section 8",
    BASE[: BASE.index("## 9. ")]
    + "## Original Issue\n\n"
    + ISSUE
    + "\n## Definition of Done\n\n- [ ] x\n",
    "hint-echo",
    "truncated",
    *(f"missing-section-{n}" for n in (9, 10, 11, 12)),
)
add(
    "two parts with the name of an echo",
    edit(("## 7. ", "## Instructions\n\nx\n\n## 7. ")) + "\n## Prompt\n\nx\n",
    "hint-echo",
)
add(
    "instructions after section 12",
    BASE + "\n## Instructions\n\nWrite the design.\n",
    "hint-echo",
)
add("marks of the prompt", BASE + "\n<<<ISSUE\nx\nISSUE>>>\n", "hint-echo")
add(
    "a chat after the log",
    LOGGED + "\n## Next steps\n\nNow implement it.\n",
    "hint-echo",
)
add(
    "cut in a code block",
    BASE[: BASE.index("pytest tests/") + 6],
    "truncated",
    "missing-section-11",
    "missing-section-12",
)
add("cut in the last code", LOGGED + "\n```python\ndef", "truncated", "hint-echo")
add(
    "cut in a row",
    BASE[: BASE.index("keeps the label |")].rstrip(),
    "truncated",
    "missing-section-12",
)
add(
    "cut after section 10",
    BASE[: BASE.index("## 11. ")],
    "truncated",
    "missing-section-11",
    "missing-section-12",
)
add(
    "cut after section 8",
    BASE[: BASE.index("## 9. ")],
    "truncated",
    *(f"missing-section-{n}" for n in (9, 10, 11, 12)),
)
add("fence around never closed", "```markdown\n" + BASE, "truncated")
add("greeting and open fence", "Here is the LLD:\n\n```markdown\n" + BASE, "truncated")
add("comment never closed", BASE + "\n<!-- and then", "truncated")
add(
    "a lost subsection",
    edit((BASE[BASE.index("### 2.3") : BASE.index("### 2.4")], "")),
    "lost-section-2.3",
    previous=BASE,
)
add(
    "a subsection folded in",
    edit(("### 2.4 Function Signatures", "Signatures:")),
    "lost-section-2.4",
    previous=BASE,
)
add("a shrunk section", BASE, "hint-shrunk-section-11", previous=LONG_RISKS)
add(
    "a shrunk design",
    edit(
        (
            section(2),
            "## 2. Proposed Changes\n\n"
            + section(2)[section(2).index("| File") : section(2).index("### 2.2")],
        ),
        (
            section(10),
            "## 10. Testing\n\n"
            + section(10)[section(10).index("| ID") : section(10).index("### 10.2")],
        ),
        (section(6), "## 6. Diagram\n\nNone.\n\n"),
    ),
    "hint-shrunk",
    "hint-shrunk-section-2",
    "hint-shrunk-section-10",
    *(f"lost-section-2.{n}" for n in range(1, 8)),
    *(f"lost-section-10.{n}" for n in (1, 2, 3)),
    previous=BASE,
)
add(
    "a grown design",
    edit(("No new package.", "word " * 5000)),
    "hint-grown",
    previous=BASE,
)

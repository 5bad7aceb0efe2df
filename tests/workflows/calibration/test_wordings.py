"""Findings as reviewers word them: those about a defect are recognised, those about
something else are not.
"""

from __future__ import annotations

import pytest

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.words import keywords
from agentos.workflows.calibration.case_files import Case, load_cases
from agentos.workflows.calibration.scoring import is_about

DEFECTIVE = {case.name: case for case in load_cases() if case.defect is not None}
ABOUT = {
    "berth-lengths.unreadable-text": (
        (
            "2.4",
            "`parse_length` returns int. The issue wants NULL for texts that cannot be read.",
        ),
        (
            "3",
            "Requirement 3 of the issue (unreadable lengths are listed in a report) is missing.",
        ),
        (
            "2.5",
            "Step 4 has no branch for malformed values; one such row would abort the whole migration.",
        ),
    ),
    "berth-lengths.old-copy": (
        (
            "10.1",
            "Scenario 020 only asserts the exit code and user_version 8; it never opens the copy.",
        ),
        (
            "10.1",
            "R2 is not covered: nothing would fail if an existing copy were overwritten.",
        ),
    ),
    "berth-lengths.rounding": (
        (
            "2.6",
            "The issue says lengths are rounded down, but the design uses ROUND_HALF_UP.",
        ),
        (
            "3",
            "R7 rounds to the nearest centimetre, so a berth may seem longer than it is; the issue forbids that.",
        ),
    ),
    "berth-lengths.counted-pages": (
        (
            "2.5",
            "sqlite3.Connection.backup() returns None, so `pages` cannot be compared with page_count.",
        ),
        (
            "2.5",
            "Step 2 relies on a return value of backup that does not exist; use PRAGMA integrity_check instead.",
        ),
    ),
    "berth-lengths.ledger": (
        (
            "10.3",
            "A plaintext password for ledger.harbour.internal is written into the design.",
        ),
        (
            "7.1",
            "Section 10.3 leaks database credentials (user migrator with its password).",
        ),
    ),
    "double-booking.busy": (
        (
            "2.5",
            "Nothing handles sqlite3.OperationalError when the lock is not obtained; the caller would see a 500.",
        ),
        (
            "3",
            "The issue demands 503 with `busy, try again` and Retry-After: 2. The design drops this requirement.",
        ),
    ),
    "double-booking.other-berths": (
        (
            "10.1",
            "Scenario 030 assigns berth 8 after berth 7, so it is not simultaneous; R3 would not be caught.",
        ),
        (
            "10.1",
            "Different berths at the same moment: no scenario sends concurrent requests.",
        ),
    ),
    "double-booking.waiting-time": (
        (
            "2.5",
            "timeout=30.0 contradicts the issue, which limits the wait to 5 seconds.",
        ),
        ("3", "R8 says 30 seconds where the issue says 5 seconds."),
    ),
    "double-booking.begin-immediate": (
        ("2.5", "`connection.begin_immediate` does not exist in the sqlite3 module."),
        (
            "2.5",
            "There is no begin_immediate() on sqlite3.Connection; execute `BEGIN IMMEDIATE`.",
        ),
    ),
    "double-booking.halved-token": (
        (
            "10.3",
            "The design contains a bearer token split in two parts; remove it and rotate it.",
        ),
        (
            "7.1",
            "Section 10.3 publishes the pager credential in two halves. Refer to a secret store instead.",
        ),
    ),
    "export-since.full-disk": (
        (
            "2.5",
            "If the disk runs full, nothing removes the temporary file or ends with exit code 5.",
        ),
        (
            "3",
            "Issue requirement 3 (disk full ends with exit code 5, no partial file) is absent.",
        ),
    ),
    "export-since.exactly-at": (
        (
            "10.1",
            "Scenario 020 cites R2 but tests a visit after WHEN and asserts the header line.",
        ),
        (
            "10.1",
            "No scenario covers the boundary: with `>` instead of `>=` all tests would still pass.",
        ),
    ),
    "export-since.zone": (
        (
            "2.5",
            "A WHEN without an offset is taken for UTC, but the issue says it is in the zone of the harbour.",
        ),
        ("3", "R8 contradicts the issue: naive times belong to harbour.zone."),
    ),
    "export-since.counted-rows": (
        (
            "2.5",
            "csv.writer.writerows() returns None, so the counter would print `None visits exported`.",
        ),
        (
            "2.5",
            "writerows does not give the number of rows; count them while iterating.",
        ),
    ),
    "export-since.staging-copy": (
        ("5", "Section 5 contains a password for the staging database in clear text."),
        (
            "",
            "Credentials (user gangway_ro and its password) for an internal host are part of the design.",
        ),
    ),
}
ELSEWHERE = (
    (
        "2.1",
        "The handbook page that section 12 mentions is not in the list of changed files.",
    ),
    ("4", "Only one alternative is discussed; the option of a trigger is not weighed."),
    ("8.1", "The budget of the first metric has no stated method of measurement."),
    ("6", "The diagram does not show the log line at the start."),
    ("11", "The likelihood of the second risk is stated without any ground."),
    ("9", "It is not said who deletes personal data after a month."),
)


@pytest.mark.parametrize(
    ("name", "at"),
    [(name, at) for name, given in ABOUT.items() for at in range(len(given))],
)
def test_a_finding_about_the_defect_is_recognised(name: str, at: int) -> None:
    section, text = ABOUT[name][at]
    defect = DEFECTIVE[name].defect
    assert defect is not None
    assert is_about(Finding("F1", Tier.HIGH, Category.QUALITY, section, text), defect)


@pytest.mark.parametrize("case", DEFECTIVE.values(), ids=lambda case: case.name)
def test_a_finding_about_something_else_is_not(case: Case) -> None:
    assert case.defect is not None
    others = [
        given
        for name, findings in ABOUT.items()
        if is_neighbour(name, case)
        for given in findings
    ]
    for section, text in (*ELSEWHERE, *others):
        finding = Finding("F1", Tier.HIGH, Category.QUALITY, section, text)
        assert not is_about(finding, case.defect), (case.name, section, text)


def is_neighbour(name: str, case: Case) -> bool:
    """Tell whether a case has the same issue and another kind of defect."""
    return (
        name.partition(".")[0] == case.name.partition(".")[0]
        and DEFECTIVE[name].kind != case.kind
    )


def test_every_term_has_words_that_carry_meaning() -> None:
    for case in DEFECTIVE.values():
        assert case.defect is not None
        assert all(keywords(term) for term in case.defect.terms), case.name

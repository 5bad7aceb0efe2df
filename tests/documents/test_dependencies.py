"""What a text says it depends on, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.dependencies import (
    MAX_FOUND,
    dependencies,
    may_depend,
    read_dependencies,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Depends on: #7", "7"),
        ("Depends on #7, #9 and #12", "7 9 12"),
        ("depends on: #7; #9 & #12", "7 9 12"),
        ("Blocked by: #7", "7"),
        ("**Blocked by:** None", ""),
        ("**Depends on:** #7", "7"),
        ("**Depends on**: #7", "7"),
        ("_Depends on_: #7", "7"),
        ("* Depends on: #7", "7"),
        ("- [ ] Depends on #7", "7"),
        ("- [x] Depends on #7", ""),
        ("This issue is blocked by #7.", "7"),
        ("Depends on: #106 (completed)", "106"),
        ("Depends on: #7 (the race), #9 (later)", "7 9"),
        ("Depends on #7 being merged first", "7"),
        ("Depends on: audit-trail", "audit-trail"),
        ("Depends on: audit-trail, #7 and other_one.", "audit-trail 7 other_one"),
        ("Depends on: 12, 014", "12 14"),
        ("Depends on: LLD-012", "12"),
        ("Depends on: issue #12", "12"),
        ("Depends on: #7, #7 and #07", "7"),
        (
            "## Related\n- Depends on: #106 (completed)\n- Blocked by: None\n- #44",
            "106",
        ),
        (
            "## Dependencies\n- #17 \u2014 the race has to be gone\n- `cryptography` for signatures\n- none",
            "17",
        ),
        ("## Dependencies\n- None, all is in the standard library", ""),
        ("## Dependencies\n- requests\n- 3 new tables", ""),
        ("## Blocked by\n- audit-trail\n- #3", "audit-trail 3"),
        ("Depends on:\n- #7\n- audit-trail\n\nNext.\n- #9", "7 audit-trail"),
        ("Depends on [#13](13-export.md)", "13"),
        ("## Depends on: #4", "4"),
        ("Depends on: #7\r\nBlocked by: #8\r\n", "7 8"),
        ("\ufeffDepends on: #7", "7"),
    ],
)
def test_a_statement_names_items(text: str, expected: str) -> None:
    assert dependencies(text) == tuple(expected.split())


@pytest.mark.parametrize(
    "text",
    [
        "```\nDepends on: #7\n```",
        "~~~md\nDepends on: #7\n~~~",
        "> Depends on: #7",
        "<!-- Depends on: #7 -->",
        "<!--\nDepends on: #7\n-->",
        "`Depends on: #7`",
        "~~Depends on: #7~~",
        "| Depends on: #7 | x |",
        "The price depends on #7 of them",
        "No longer depends on #7",
        "Depends on: owner/name#12",
        "Depends on: https://github.com/owner/name/issues/12",
        "Depends on [#12](https://github.com/owner/name/issues/12)",
        "Depends on: none",
        "Depends on: N/A",
        "Depends on: the export being finished",
        "Depends on audit-trail",
        "Depends on: `shelf`",
        "Dependson: #7",
        "Related: #7",
    ],
)
def test_what_only_looks_like_a_statement_names_nothing(text: str) -> None:
    assert dependencies(text) == ()


def test_items_of_another_repository_are_passed_over_and_those_of_ours_are_not() -> (
    None
):
    text = "Depends on: other/thing#12, #13 and https://github.com/acme/shelf/issues/14"
    assert dependencies(text) == ("13",)
    assert dependencies(text, ours="Acme/Shelf") == ("13", "14")
    assert dependencies("Depends on: acme/shelf#15", ours="acme/shelf") == ("15",)


def test_the_line_and_the_words_are_told() -> None:
    (first, second) = read_dependencies(
        "# T\n\nDepends on: #12\n\n## Blocked by\n- audit\n"
    )
    assert (first.item, first.line, first.said) == ("12", 3, "Depends on #12")
    assert (second.item, second.line, second.said) == ("audit", 6, "Blocked by audit")


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=20, unique=True),
    st.sampled_from([", ", " and ", "; "]),
)
def test_every_number_of_a_list_is_found(numbers: list[int], separator: str) -> None:
    text = (
        f"# Title\n\nDepends on: {separator.join(f'#{number}' for number in numbers)}\n"
    )
    assert dependencies(text) == tuple(map(str, numbers))


FRAGMENTS = st.sampled_from(
    [
        "Depends on: ",
        "Blocked by ",
        "#7",
        "a/b#9",
        ", ",
        " and ",
        "`",
        "~~",
        "**",
        "<!--",
        "-->",
        "```\n",
        "> ",
        "- ",
        "\n",
        "## Dependencies\n",
        "## Related\n",
        "[x] ",
        "(",
        ")",
        "[#1](",
        "https://h/o/n/issues/3",
        "none",
        "| ",
        "#",
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(FRAGMENTS, max_size=60).map("".join)))
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = read_dependencies(text)
    assert len(found) <= MAX_FOUND
    assert not found or may_depend(text)
    for dependency in found:
        assert 0 < len(dependency.item) <= 64
        assert dependency.item.replace("-", "").replace("_", "").isalnum()
        assert 1 <= dependency.line <= text.count("\n") + 1


@given(st.lists(FRAGMENTS, max_size=60).map("".join))
def test_what_is_quoted_or_fenced_never_counts(text: str) -> None:
    lines = text.replace("```", "").split("\n")
    assert dependencies("\n".join(f"> {line}" for line in lines)) == ()
    fence = "~" * (max(len(line) for line in lines) + 4)
    assert dependencies(f"{fence}\n{text}\n{fence}\n") == ()


@pytest.mark.parametrize(
    "line",
    [
        "Depends on: " + "#7, " * 400,
        "Depends on: " + "a/" * 900,
        "Depends on " + "(" * 1900,
        "- [ ] `~~" * 200,
        "Blocked by " + "[" * 1900,
        "Depends on: " + "https://" * 200,
        "Depends on: none " + "and " * 400,
    ],
)
def test_a_megabyte_of_hostile_lines_is_read_to_its_end(line: str) -> None:
    text = f"## Dependencies\n{f'{line}{chr(10)}' * (1_000_000 // len(line))}"
    assert len(dependencies(text)) <= MAX_FOUND

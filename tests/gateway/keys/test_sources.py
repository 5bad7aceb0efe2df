"""Where keys come from, what is refused, and that no message ever tells a key."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.errors import UsageError
from agentos.gateway.keys import Key
from agentos.gateway.keys.entries import make_key
from agentos.gateway.keys.file import (
    LARGEST_FILE,
    add_key,
    parse_document,
    read_text,
    remove_key,
)
from agentos.gateway.keys.sources import Keyring, read_keys
from agentos.gateway.keys.tables import append_table, drop_table
from agentos.state.redaction import fingerprint

SECRET = "AIzaSyCANARY-0123456789"
OTHER = "sk-CANARY-9876543210fedcba9876"


def write(home: Path, text: str | bytes, mode: int = 0o600) -> Path:
    """Put a key file into a home."""
    home.mkdir(exist_ok=True)
    path = home / "keys.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


def table(**fields: str | int) -> str:
    """Return a [[key]] table with a usable provider and key unless told otherwise."""
    told = {"provider": "gemini", "key": SECRET, **fields}
    return (
        "[[key]]\n"
        + "".join(f"{name} = {json.dumps(value)}\n" for name, value in told.items())
        + "\n"
    )


def group(**fields: str | int) -> str:
    """Return a [[group]] table."""
    return (
        "[[group]]\n"
        + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
        + "\n"
    )


def like(name: str) -> str:
    """Return what looks like a key, and is known by a name."""
    return f"{name}-0123456789abcdef"


def refusal(home: Path, environ: Mapping[str, str] | None = None) -> str:
    """Return what is said when the keys cannot be read; it tells no key and is one
    line.
    """
    with pytest.raises(UsageError) as caught:
        read_keys(environ or {}, home)
    said = str(caught.value)
    assert "CANARY" not in said
    assert "\n" not in said
    assert caught.value.__cause__ is None
    return said


def secrets(ring: Keyring) -> list[str]:
    """Return the secrets in order."""
    return [key.secret for key in ring.keys]


def test_without_any_source_there_are_no_keys_and_nothing_is_created(
    tmp_path: Path,
) -> None:
    assert read_keys({}, tmp_path / "home") == Keyring((), ())
    assert not (tmp_path / "home").exists()


def test_the_environment_gives_single_numbered_and_listed_keys_in_that_order(
    tmp_path: Path,
) -> None:
    environ = {
        "GEMINI_API_KEY_10": like("g10"),
        "GEMINI_API_KEY_2": like("g2"),
        "GEMINI_API_KEYS": f" {like('g4')} ,, {like('g5')},",
        "GEMINI_API_KEY": like("g1"),
        "ANTHROPIC_API_KEY": like("a1"),
        "OPENAI_API_KEY_1": like("o1"),
        "OPENAI_API_KEY": "",
        "GEMINI_API_KEY_X": "no",
        "GEMINI_API_KEY_²": "no",
    }
    ring = read_keys(environ, tmp_path)
    assert secrets(ring) == [
        like(name) for name in ("g1", "g2", "g10", "g4", "g5", "a1", "o1")
    ]
    assert [key.source for key in ring.keys[:5]] == [
        "GEMINI_API_KEY",
        "GEMINI_API_KEY_2",
        "GEMINI_API_KEY_10",
        "GEMINI_API_KEYS, key 1",
        "GEMINI_API_KEYS, key 2",
    ]
    assert all(key.group == key.fingerprint for key in ring.keys)
    assert ring.problems == ()


def test_the_file_comes_after_the_environment_and_the_first_of_two_equal_keys_counts(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        table(key=SECRET, max_parallel=3)
        + table(provider="anthropic", key=OTHER, group="team"),
    )
    ring = read_keys({"GEMINI_API_KEY": SECRET}, tmp_path)
    assert [(key.provider, key.source) for key in ring.keys] == [
        ("gemini", "GEMINI_API_KEY"),
        ("anthropic", "keys.toml, key 2"),
    ]
    assert ring.problems == (
        "keys.toml, key 1: is the same key as GEMINI_API_KEY; its group and limits are not used",
    )


def test_the_same_text_is_two_keys_for_two_providers(tmp_path: Path) -> None:
    assert (
        len(
            read_keys(
                {"GEMINI_API_KEY": SECRET, "OPENAI_API_KEY": SECRET}, tmp_path
            ).keys
        )
        == 2
    )


def test_the_other_variable_of_google_counts_only_alone_and_the_used_one_is_named(
    tmp_path: Path,
) -> None:
    alone = read_keys({"GOOGLE_API_KEY": SECRET}, tmp_path)
    assert [(key.provider, key.source) for key in alone.keys] == [
        ("gemini", "GOOGLE_API_KEY")
    ]
    assert alone.problems == (
        "GOOGLE_API_KEY is used for gemini, as GEMINI_API_KEY is not set",
    )
    both = read_keys({"GOOGLE_API_KEY": OTHER, "GEMINI_API_KEY_1": SECRET}, tmp_path)
    assert secrets(both) == [SECRET]
    assert both.problems == (
        "GEMINI_API_KEY_1 is used for gemini, and GOOGLE_API_KEY, which is set too, is not",
    )
    assert (
        read_keys(
            {"GOOGLE_API_KEY": SECRET, "GEMINI_API_KEY": SECRET}, tmp_path
        ).problems
        == ()
    )


def test_addresses_of_the_environment_are_for_its_own_keys(tmp_path: Path) -> None:
    write(tmp_path, table(provider="openai", key=OTHER))
    environ = {
        "OPENAI_API_KEY": SECRET,
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "ANTHROPIC_API_KEY": SECRET,
        "ANTHROPIC_BASE_URL": "https://claude.example",
        "GEMINI_API_KEY": SECRET,
        "GOOGLE_GEMINI_BASE_URL": "https://gemini.example",
    }
    found = {
        (key.provider, key.source): key.base_url
        for key in read_keys(environ, tmp_path).keys
    }
    assert found == {
        ("gemini", "GEMINI_API_KEY"): "https://gemini.example",
        ("anthropic", "ANTHROPIC_API_KEY"): "https://claude.example",
        ("openai", "OPENAI_API_KEY"): "http://127.0.0.1:1/v1",
        ("openai", "keys.toml, key 1"): "",
    }


def test_a_server_that_asks_for_no_key_is_known_by_its_address(tmp_path: Path) -> None:
    write(
        tmp_path,
        '[[key]]\nprovider = "openai"\nbase_url = "http://127.0.0.1:11434/v1"\n',
    )
    (key,) = read_keys({}, tmp_path).keys
    assert (key.secret, key.group, key.base_url) == (
        "",
        key.base_url,
        "http://127.0.0.1:11434/v1",
    )
    (named,) = read_keys(
        {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}, tmp_path / "empty"
    ).keys
    assert (named.secret, named.source) == ("", "OPENAI_BASE_URL")
    assert secrets(
        read_keys(
            {"OPENAI_BASE_URL": "https://a.example", "OPENAI_API_KEY": SECRET},
            tmp_path / "e",
        )
    ) == [SECRET]


def test_two_servers_that_ask_for_no_key_are_both_used(tmp_path: Path) -> None:
    keyless = '[[key]]\nprovider = "openai"\nbase_url = "http://127.0.0.1:{}/v1"\n'
    write(tmp_path, keyless.format(1) + keyless.format(2))
    ring = read_keys({}, tmp_path)
    assert [key.base_url for key in ring.keys] == [
        "http://127.0.0.1:1/v1",
        "http://127.0.0.1:2/v1",
    ]
    assert ring.problems == ()


def test_two_servers_with_one_key_are_one_key_and_that_is_told(tmp_path: Path) -> None:
    shared = '[[key]]\nprovider = "openai"\nkey = "{}"\nbase_url = "http://127.0.0.1:{}/v1"\n'
    write(tmp_path, shared.format(SECRET, 1) + shared.format(SECRET, 2))
    ring = read_keys({}, tmp_path)
    assert [key.base_url for key in ring.keys] == ["http://127.0.0.1:1/v1"]
    assert "keys.toml, key 2" in ring.problems[0]
    assert "any word" in ring.problems[0]


def test_limits_of_a_group_reach_all_of_its_keys(tmp_path: Path) -> None:
    first = fingerprint("gemini", OTHER)
    write(
        tmp_path,
        table(group="p", requests_per_minute=60)
        + table(key=like("another"), group="p")
        + group(name="p", provider="gemini", tokens_per_minute=1000)
        + group(name=first, provider="gemini", requests_per_minute=5),
    )
    ring = read_keys({"GEMINI_API_KEY": OTHER}, tmp_path)
    assert [(key.requests_per_minute, key.tokens_per_minute) for key in ring.keys] == [
        (5, 0),
        (60, 1000),
        (60, 1000),
    ]
    assert ring.problems == ()


def test_the_credential_limit_keeps_the_first_keys_of_all(tmp_path: Path) -> None:
    listed = f"{like('a')},{like('b')}"
    environ = {
        "GEMINI_API_KEYS": listed,
        "OPENAI_API_KEY": like("c"),
        "AGENTOS_CREDENTIAL_LIMIT": "2",
    }
    ring = read_keys(environ, tmp_path)
    assert secrets(ring) == [like("a"), like("b")]
    assert ring.problems == ("AGENTOS_CREDENTIAL_LIMIT: 2 of 3 keys are used",)
    for bad in ("0", "-1", "two", "9" * 5000):
        assert "AGENTOS_CREDENTIAL_LIMIT" in refusal(
            tmp_path, {**environ, "AGENTOS_CREDENTIAL_LIMIT": bad}
        )


def test_a_key_that_crosses_the_network_readable_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, table(base_url="http://models.example/v1"))
    (problem,) = read_keys({}, tmp_path).problems
    assert "https" in problem
    write(tmp_path, table(base_url="http://127.0.0.1:9/v1"))
    assert read_keys({}, tmp_path).problems == ()


def test_a_placeholder_is_used_and_said_once_to_be_one(tmp_path: Path) -> None:
    write(tmp_path, table(provider="openai", key="not-needed") + table(key=SECRET))
    ring = read_keys(
        {"OPENAI_API_KEY": "your-api-key-here", "GEMINI_API_KEY": OTHER}, tmp_path
    )
    assert {"not-needed", "your-api-key-here"} < set(secrets(ring))
    assert ring.problems == tuple(
        f"openai: {source} looks like a placeholder, not like a key; it is sent as it is and not hidden in output"
        for source in ("OPENAI_API_KEY", "keys.toml, key 1")
    )
    assert (
        read_keys(
            {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, tmp_path / "none"
        ).problems
        == ()
    )


def test_a_group_without_a_key_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, group(name="p", provider="gemini"))
    assert "keys.toml, group 1" in read_keys({}, tmp_path).problems[0]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610])
def test_a_file_that_others_may_open_is_refused_with_the_command_that_helps(
    tmp_path: Path, mode: int
) -> None:
    path = write(tmp_path, table(), mode)
    assert f"chmod 600 {path}" in refusal(tmp_path)
    path.chmod(0o600)
    assert secrets(read_keys({}, tmp_path)) == [SECRET]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(write(tmp_path, table()), 12345, -1)
    assert "another user" in refusal(tmp_path)


def test_a_link_is_followed_to_a_file_that_is_as_private(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    target = write(elsewhere, table())
    home.mkdir()
    (home / "keys.toml").symlink_to(target)
    assert secrets(read_keys({}, home)) == [SECRET]
    add_key(home, make_key({"provider": "openai", "key": OTHER}, "test"))
    assert (home / "keys.toml").is_symlink()
    assert OTHER in target.read_text()
    target.chmod(0o644)
    assert "chmod 600" in refusal(home)
    target.unlink()
    assert "leads nowhere" in refusal(home)


def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys.toml", 0o600)
    assert "not an ordinary file" in refusal(tmp_path)
    (tmp_path / "keys.toml").unlink()
    (tmp_path / "keys.toml").mkdir()
    assert "not an ordinary file" in refusal(tmp_path)


def test_a_file_over_a_megabyte_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "# x\n" * (LARGEST_FILE // 4 + 1))
    assert "over 1 MB" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f'[[key]]\nprovider = "gemini"\nkey = {SECRET}\n', "line 3, column "),
        (f'[[key]]\nkey = "{SECRET}\n', "line 2, column "),
        (f'[[key]]\nkey = """{SECRET}\n', "at its end"),
        (f"{SECRET}\n", "line 1, column "),
        ("x = " + "[" * 5000, "not valid TOML"),
        ("x = " + "9" * 5000, "not valid TOML"),
        ("a." * 500_000, "line 1 is over"),
        (b"\n\xff" + SECRET.encode(), "line 2"),
    ],
)
def test_of_broken_toml_only_the_place_is_told(
    tmp_path: Path, text: str | bytes, place: str
) -> None:
    write(tmp_path, text)
    assert place in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (table(provider="gemni"), "unknown provider 'gemni'; did you mean 'gemini'?"),
        (table(provider="claude"), "did you mean 'anthropic'?"),
        (table(provider="OpenAI"), "small letters"),
        (
            table(provider=SECRET),
            "a provider that does not exist; known are anthropic, claude-cli, gemini, openai",
        ),
        (table(provider=7), "a provider that does not exist"),
        (f'[[key]]\nkey = "{SECRET}"\n', "provider is missing"),
        (
            table(max_paralel=3),
            "unknown field 'max_paralel'; did you mean 'max_parallel'?",
        ),
        (table(api_key=SECRET), "did you mean 'key'?"),
        (
            table(**{SECRET: "x"}),
            "a field that does not exist; known are provider, key",
        ),
        ('[[key]]\nprovider = "gemini"\n', "key is missing"),
        ('[[key]]\nprovider = "openai"\n', "key is missing"),
        (table(key=""), "the key is empty"),
        (
            table(provider="openai", key="", base_url="http://127.0.0.1/"),
            "the key is empty",
        ),
        (table(key=f"{SECRET} {SECRET}"), "blanks"),
        (table(key=f"{SECRET}\n"), "control"),
        (table(key=f"{SECRET}é"), "letters that no key has"),
        (table(key="C" * 4097), "over 4,096"),
        (table(key=12345678), "must be text"),
        (table(max_parallel=0), "max_parallel must be a whole number from 1 to 1,000"),
        (table(max_parallel=1001), "max_parallel"),
        (table(max_parallel=True), "max_parallel"),
        (table(max_parallel="3"), "max_parallel"),
        (table(requests_per_minute=0), "requests_per_minute"),
        (table(tokens_per_minute=-1), "tokens_per_minute"),
        (table(group=""), "group"),
        (table(group="a\nb"), "group"),
        (table(group=SECRET), "holds a key"),
        (table(base_url=f"https://a.example/{SECRET}"), "holds a key"),
        (table(base_url="ftp://a.example"), "http or https"),
        (table(base_url="a.example/v1"), "http or https"),
        (table(base_url="http://"), "http or https"),
        (table(base_url="http://[::1"), "http or https"),
        (table(base_url="http://a:99999/"), "http or https"),
        (table(base_url=f"https://me:{SECRET}@a.example/"), "user name or password"),
        (table(base_url=f"https://a.example/?key={SECRET}"), "leave out what follows"),
        (
            table() + group(name="p", provider="gemini") * 2,
            "has the name of keys.toml, group 1",
        ),
        (
            table(group="p", requests_per_minute=1)
            + table(key=OTHER, group="p", requests_per_minute=2),
            "keys.toml, key 2: its requests_per_minute differs from that of keys.toml, key 1",
        ),
        (
            table(group="p", tokens_per_minute=1)
            + group(name="p", provider="gemini", tokens_per_minute=2),
            "keys.toml, group 1: its tokens_per_minute differs from that of keys.toml, key 1",
        ),
        (
            table(group="p") + table(provider="openai", key=OTHER, group="p"),
            "groups of its own",
        ),
        (table(group="p") + group(name="p", provider="openai"), "in a group of openai"),
        (group(provider="gemini"), "name is missing"),
        (group(name="p"), "provider is missing"),
        (
            table().replace("[[key]]", "[[keys]]"),
            "unknown table 'keys'; did you mean 'key'?",
        ),
        (table().replace("[[key]]", "[key]"), "begin each of them with [[key]]"),
        (table() * 1001, "over 1,000"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_clear_line(
    tmp_path: Path, text: str, said: str
) -> None:
    write(tmp_path, text)
    assert said in refusal(tmp_path)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"GEMINI_API_KEY": f"{SECRET}\n"}, "GEMINI_API_KEY: the key has blanks"),
        (
            {"OPENAI_API_KEYS": f"{OTHER},{SECRET} x"},
            "OPENAI_API_KEYS, key 2: the key has blanks",
        ),
        ({"ANTHROPIC_API_KEY_3": "C" * 4097}, "ANTHROPIC_API_KEY_3: the key is over"),
        (
            {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"http://u:{OTHER}@h/"},
            "OPENAI_BASE_URL: base_url holds",
        ),
        ({"OPENAI_BASE_URL": "nowhere"}, "OPENAI_BASE_URL: base_url must be"),
    ],
)
def test_a_bad_value_of_the_environment_is_refused_by_its_name(
    tmp_path: Path, environ: dict[str, str], said: str
) -> None:
    assert said in refusal(tmp_path, environ)


canaries = st.text("0123456789ABCDEFabcdef-_", min_size=6, max_size=40).map(
    lambda tail: f"zQ9x{tail}"
)
words = st.sampled_from(
    [
        "provider",
        "key",
        "group",
        "name",
        "max_parallel",
        "base_url",
        "requests_per_minute",
        "gemini",
        "openai",
        "kye",
    ]
)
scalars = st.one_of(
    words,
    canaries,
    st.integers(-5, 2000),
    st.booleans(),
    st.floats(allow_nan=False),
    st.text(max_size=8),
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """Return a key file, often a broken one, and the secrets that stand somewhere in
    it.
    """
    held: list[str] = []

    def keep(value: object) -> object:
        if isinstance(value, str) and value.startswith("zQ9x"):
            held.append(value)
        return value

    lines: list[str] = []
    for _ in range(draw(st.integers(0, 5))):
        lines.append(
            draw(
                st.sampled_from(
                    [
                        "[[key]]",
                        "[[key]]",
                        "[[group]]",
                        "[key]",
                        "[[keys]]",
                        "[[key.x]]",
                    ]
                )
            )
        )
        for name in draw(st.lists(st.one_of(words, words, canaries), max_size=5)):
            quoted = name if name in ("provider", "key") else json.dumps(keep(name))
            lines.append(f"{quoted} = {json.dumps(keep(draw(scalars)))}")
        if draw(st.integers(0, 4)) == 0:
            lines.append(str(keep(draw(canaries))))
    data = "\n".join(lines).encode()
    if draw(st.integers(0, 3)) == 0:
        cut = draw(st.integers(0, len(data)))
        data = data[:cut] + draw(st.binary(max_size=4)) + data[cut:]
    return data, held


@settings(max_examples=300, deadline=None)
@given(documents())
def test_whatever_the_file_holds_only_a_usage_error_is_raised_and_no_secret_told(
    document: tuple[bytes, list[str]],
) -> None:
    data, held = document
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), data)
        try:
            ring = read_keys(
                {"GEMINI_API_KEY": "zQ9x-of-the-environment"}, Path(folder)
            )
            said = " ".join(ring.problems) + repr(ring.problems)
            said += "".join(
                repr(key)
                for key in ring.keys
                if key.group == key.fingerprint and not key.base_url
            )
        except UsageError as error:
            said = str(error) + repr(error)
        remaining = said.replace(folder, "")
        assert not [
            secret
            for secret in [*held, "zQ9x-of-the-environment"]
            if secret in remaining
        ]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), data)
        try:
            read_keys({}, Path(folder))
        except UsageError:
            pass


COMMENTED = '''\
# My keys. "Do not [[key]] touch"

# project one
[[key]]  # the first
provider = "gemini"
key = """first-CANARY-""\\
    key"""
# inside
group = 'p'  # a ' in a comment

# what is said after it

[["key"]]
provider = 'openai'
key = 'second # [[key]] CANARY'
[[group]]
name = "p"
provider = "gemini"
# the end
'''


def test_removing_drops_the_lines_of_that_table_and_nothing_else() -> None:
    text = COMMENTED.replace(" # [[key]] CANARY", "")
    without_first = drop_table(text, "key", 0)
    assert (
        without_first
        == '# My keys. "Do not [[key]] touch"\n\n# project one\n'
        + text[text.index("# what is said") :]
    )
    without_second = drop_table(text, "key", 1)
    assert (
        without_second
        == text[: text.index('[["key"]]')] + text[text.index("[[group]]") :]
    )
    assert drop_table(text, "key", 2) is None


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*COMMENTED.split("\n"), "", "x = [", "]", "'''", '"""""', "\r"]
        ),
        max_size=12,
    )
)
def test_what_was_added_can_be_removed_without_a_trace(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    try:
        keys = len(parse_document(text).keys)
    except UsageError:
        return
    assert drop_table(append_table(text, table()[:-1]), "key", keys) == text


def test_a_key_is_removed_by_its_name_and_the_comments_stay(tmp_path: Path) -> None:
    path = write(
        tmp_path, f"# mine\n{table()}# last\n{table(provider='openai', key=OTHER)}"
    )
    assert remove_key(tmp_path, fingerprint("gemini", SECRET)) == 0
    assert SECRET not in path.read_text()
    assert path.read_text().startswith("# mine\n# last\n[[key]]\n")
    assert secrets(read_keys({}, tmp_path)) == [OTHER]
    assert path.stat().st_mode & 0o777 == 0o600


def test_of_two_equal_entries_one_is_removed_and_the_other_told(tmp_path: Path) -> None:
    write(tmp_path, table() * 2)
    name = fingerprint("gemini", SECRET)
    assert [remove_key(tmp_path, name), remove_key(tmp_path, name)] == [1, 0]
    with pytest.raises(UsageError, match="no such key"):
        remove_key(tmp_path, name)


@pytest.mark.parametrize(
    "text",
    [
        f'key = [{{provider = "gemini", key = "{SECRET}"}}]\n',
        f'key = [\n  {{provider = "gemini", key = "{SECRET}"}},\n]\n',
    ],
)
def test_a_file_written_in_another_form_is_read_but_not_edited(
    tmp_path: Path, text: str
) -> None:
    path = write(tmp_path, text)
    assert secrets(read_keys({}, tmp_path)) == [SECRET]
    with pytest.raises(UsageError, match="by hand"):
        remove_key(tmp_path, fingerprint("gemini", SECRET))
    with pytest.raises(UsageError, match="by hand"):
        add_key(tmp_path, make_key({"provider": "openai", "key": OTHER}, "test"))
    assert path.read_text() == text


def test_an_added_key_is_found_as_it_was_given(tmp_path: Path) -> None:
    fields = {
        "provider": "openai",
        "key": "sk-\"\\'#CANARY",
        "group": 'Größe "1" \\ # x',
        "max_parallel": 2,
        "base_url": "https://a.example/v1",
        "requests_per_minute": 7,
        "tokens_per_minute": 9,
    }
    write(tmp_path, f"{table()}# no newline at the end")
    added = add_key(tmp_path, make_key(fields, "test"))
    assert added.source == "keys.toml, key 2"
    assert read_keys({}, tmp_path).keys[1] == added
    assert "# no newline at the end\n" in read_text(tmp_path / "keys.toml")


def test_a_key_that_is_there_or_does_not_fit_is_not_added(tmp_path: Path) -> None:
    path = write(tmp_path, table(group="p", requests_per_minute=5))
    before = path.read_text()
    for fields, said in (
        ({"provider": "gemini", "key": SECRET}, "is there already"),
        (
            {"provider": "gemini", "key": SECRET, "base_url": "https://a.example"},
            "another base_url",
        ),
        (
            {
                "provider": "gemini",
                "key": OTHER,
                "group": "p",
                "requests_per_minute": 6,
            },
            "its requests_per_minute differs",
        ),
        ({"provider": "openai", "key": OTHER, "group": "p"}, "groups of its own"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            add_key(tmp_path, make_key(fields, "test"))
        assert "CANARY" not in str(caught.value)
    assert path.read_text() == before
    assert sorted(name.name for name in tmp_path.iterdir()) == [
        "keys.toml",
        "keys.toml.lock",
    ]


def test_what_a_killed_command_left_is_gone_after_the_next_one(tmp_path: Path) -> None:
    left = tmp_path / ".keys.toml.tmp"
    left.write_text(SECRET)
    add_key(tmp_path, make_key({"provider": "openai", "key": OTHER}, "test"))
    assert not left.exists()
    assert secrets(read_keys({}, tmp_path)) == [OTHER]


def test_additions_and_removals_at_once_lose_nothing(tmp_path: Path) -> None:
    def make(number: int) -> Key:
        return make_key({"provider": "gemini", "key": f"key-{number}"}, "test")

    def work(number: int) -> None:
        add_key(tmp_path, make(number))
        add_key(tmp_path, make(100 + number))
        remove_key(tmp_path, make(number).fingerprint)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(secrets(read_keys({}, tmp_path))) == sorted(
        f"key-{100 + number}" for number in range(8)
    )

"""Registered secrets never come out, however they are written, surrounded or cut; other
text is left alone.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.run.console.lines import LineHolder
from agentos.state.redaction import (
    REDACTED,
    SHORTEST,
    Redactor,
    find_line_to_hide,
    find_secret,
    forms_of,
    is_secret,
    redact,
    register,
    register_key,
    registered,
)

MARK = REDACTED.encode()
untimed = settings(max_examples=200, deadline=None)
KEY_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
LOOKS = {
    "an Anthropic key": "sk-ant-api03-Zm9vYmFyYmF6cXV4-Zm9vYmFyYmF6cXV4_AA",
    "an OpenAI key": "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4",
    "an old OpenAI key": "sk-Zm9vYmFyYmF6cXV4Zm9vYmFy",
    "a Gemini key": "AIzaSyZm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4X",
    "a new Gemini key": "AQ.Ab8RN6Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4",
    "a GitHub token": "ghp_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV41234",
    "a fine-grained GitHub token": "github_pat_11Zm9vYmFy_Zm9vYmFyYmF6cXV4",
}
HARMLESS = [
    "task-management-of-long-running-things",
    "see the FAQ.answers-about-everything-you-ask",
    "the Bearer of bad news",
    "send the x-api-key: header with each call",
    "sk-short",
    "desk-lamp-with-a-very-long-product-name",
    "a sha is 3f786850e387550fdab836ed7e6dc881de23001b",
]


def is_apart(secret: str) -> bool:
    """Whether a secret can be told from the mark that replaces it."""
    return (
        secret == secret.strip()
        and not set("[]") & set(secret)
        and secret not in REDACTED
    )


plain_keys = st.text(KEY_LETTERS, min_size=SHORTEST, max_size=120).filter(is_apart)
odd_keys = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]),
    min_size=SHORTEST,
    max_size=40,
).filter(is_apart)
keys = plain_keys | odd_keys


@st.composite
def hidden_keys(draw: st.DrawFn) -> tuple[str, str]:
    """Return a secret and a text that gives it away in one of the forms that are
    claimed.
    """
    secret = draw(keys)
    data = secret.encode()
    lead, trail = draw(st.binary(max_size=7)), draw(st.binary(max_size=7))
    text = draw(
        st.sampled_from(
            [
                secret,
                json.dumps(secret)[1:-1],
                json.dumps(secret, ensure_ascii=False)[1:-1],
                json.dumps(json.dumps({"key": secret})),
                quote(secret),
                quote(secret, safe=""),
                re.sub("%..", lambda code: code[0].lower(), quote(secret, safe="")),
                quote_plus(secret),
                "".join(f"%{byte:02x}" for byte in data),
                data.hex(),
                data.hex().upper(),
                base64.b64encode(data).decode(),
                base64.b64encode(data).decode().rstrip("="),
                base64.urlsafe_b64encode(data).decode(),
                base64.urlsafe_b64encode(data).decode().rstrip("="),
                base64.b64encode(lead + data + trail).decode(),
                base64.urlsafe_b64encode(lead + data + trail).decode().rstrip("="),
            ]
        )
    )
    return secret, text


def decoded(data: bytes) -> Iterator[bytes]:
    """Yield all that base64 readers could make of what stands between the marks."""
    for run in re.findall(rb"[A-Za-z0-9+/_-]{8,}", data.replace(MARK, b" ")):
        for skip in range(4):
            body = run[skip:].translate(bytes.maketrans(b"-_", b"+/"))
            yield base64.b64decode(body[: len(body) // 4 * 4])


def gives_away(shown: bytes, secret: str, hidden: str) -> bool:
    """Whether something shown is the secret, as it was hidden or in base64."""
    data = secret.encode()
    return (
        data in shown
        or hidden.encode() in shown
        or any(data in text for text in decoded(shown))
    )


@untimed
@given(hidden_keys(), st.text(max_size=60), st.text(max_size=60))
def test_no_form_of_a_secret_comes_out(
    pair: tuple[str, str], before: str, after: str
) -> None:
    secret, hidden = pair
    shown = Redactor(frozenset({secret})).redact(before + hidden + after)
    assert REDACTED in shown
    assert secret not in shown
    assert hidden not in shown


@untimed
@given(keys, st.binary(max_size=40), st.binary(max_size=40), st.booleans())
def test_no_secret_comes_out_of_the_middle_of_base64(
    secret: str, before: bytes, after: bytes, is_url: bool
) -> None:
    encode = base64.urlsafe_b64encode if is_url else base64.b64encode
    shown = Redactor(frozenset({secret})).redact_bytes(
        encode(before + secret.encode() + after)
    )
    assert MARK in shown
    assert not any(secret.encode() in text for text in decoded(shown))


@untimed
@given(
    hidden_keys(),
    st.binary(max_size=60),
    st.binary(max_size=60),
    st.lists(st.integers(0, 600), max_size=12),
)
def test_no_secret_comes_out_however_a_stream_is_cut(
    pair: tuple[str, str], before: bytes, after: bytes, places: list[int]
) -> None:
    secret, hidden = pair
    stream = before + hidden.encode() + after
    holder = LineHolder(Redactor(frozenset({secret})).redact_bytes)
    cuts = [0, *sorted(min(place, len(stream)) for place in places), len(stream)]
    passed, seen = b"", []
    for begin, end in pairwise(cuts):
        passed += holder.feed(stream[begin:end])
        seen.append(holder.peek())
    passed += holder.release()
    assert MARK in passed
    for shown in (passed, *seen):
        assert not gives_away(shown, secret, hidden)


@untimed
@given(plain_keys.filter(lambda key: len(key) > 20), st.integers(SHORTEST, 20))
def test_the_beginning_of_a_secret_is_not_shown_while_the_rest_is_awaited(
    secret: str, length: int
) -> None:
    holder = LineHolder(Redactor(frozenset({secret})).redact_bytes)
    holder.feed(b"key: " + secret[:length].encode())
    assert holder.peek() == b"key: " + MARK
    assert holder.feed(secret[length:].encode() + b".\n") == b"key: " + MARK + b".\n"


@untimed
@given(plain_keys.filter(lambda key: len(key) > 20), st.integers(60_000, 70_000))
def test_no_secret_is_cut_by_a_line_too_long_to_be_held(
    secret: str, length: int
) -> None:
    holder = LineHolder(Redactor(frozenset({secret})).redact_bytes)
    line = b"." * length + secret.encode() + b"." * length
    passed = (
        b"".join(holder.feed(line[at : at + 7001]) for at in range(0, len(line), 7001))
        + holder.release()
    )
    assert passed == b"." * length + MARK + b"." * length


@untimed
@given(keys, st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=6))
def test_text_without_secrets_is_unchanged(
    secret: str, data: bytes, places: list[int]
) -> None:
    if any(form[:SHORTEST] in data for form in forms_of(secret)):
        return
    redactor = Redactor(frozenset({secret}))
    holder = LineHolder(redactor.redact_bytes)
    cuts = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    passed = [holder.feed(data[begin:end]) for begin, end in pairwise(cuts)]
    assert b"".join([*passed, holder.release()]) == data
    text = data.decode("latin-1")
    assert redactor.redact(text) == text


@untimed
@given(st.lists(plain_keys, min_size=2, max_size=4))
def test_of_secrets_that_are_parts_of_each_other_none_is_left(
    secrets: list[str],
) -> None:
    nested = ["".join(secrets[: count + 1]) for count in range(len(secrets))]
    assert Redactor(frozenset(nested)).redact(f"<{nested[-1]}>") == f"<{REDACTED}>"


def strings_in(data: object) -> Iterator[str]:
    """Yield every string and every number of JSON data, as text."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield name
            yield from strings_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from strings_in(value)
    else:
        yield str(data)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, object]:
    """Return a secret and JSON data with the secret in many places."""
    secret = draw(keys | st.from_regex(r"[1-9][0-9]{8,12}", fullmatch=True))
    words = st.text(max_size=10) | st.builds(
        lambda a, b: a + secret + b, st.text(max_size=5), st.text(max_size=5)
    )
    leaves = (
        words
        | st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
    )
    if secret.isdigit():
        leaves |= st.just(int(secret))
    data = draw(
        st.recursive(
            leaves,
            lambda inner: (
                st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4)
            ),
        )
    )
    return secret, data


@pytest.mark.slow
@untimed
@given(documents(), st.booleans(), st.sampled_from([None, 1]))
def test_json_stays_json_and_holds_no_secret(
    pair: tuple[str, object], is_ascii: bool, indent: int | None
) -> None:
    secret, data = pair
    text = json.dumps(data, ensure_ascii=is_ascii, indent=indent)
    clean = Redactor(frozenset({secret})).redact_json(text)
    assert not any(secret in value for value in strings_in(json.loads(clean)))
    if not any(
        form[:SHORTEST] in text.encode("utf-8", "surrogatepass")
        for form in forms_of(secret)
    ):
        assert clean == text


@pytest.mark.parametrize("key", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "key={},",
        '"{}"',
        "a\n{}\n",
        "a\\n{}",
        "\\u00e9{}",
        "?key={}&x",
        "%3D{}",
        "({})",
        "\x1b[31m{}\x1b[0m",
    ],
)
def test_what_looks_like_a_key_is_taken_out_though_nobody_registered_it(
    key: str, frame: str
) -> None:
    shown = Redactor().redact(frame.format(key))
    assert key not in shown
    assert REDACTED in shown
    assert Redactor().redact_bytes(frame.format(key).encode()) == shown.encode()


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer {}",
        "authorization: bearer {}",
        "AUTHORIZATION: BEARER {}",
        "x-api-key: {}",
        "X-Api-Key: {}",
        "X-API-KEY={}",
        "x-goog-api-key: {}",
        "{{'x-api-key': '{}'}}",
        "[(b'x-api-key', b'{}')]",
        '{{"headers": "{{\\"x-api-key\\": \\"{}\\"}}"}}',
    ],
)
def test_the_value_of_a_header_that_carries_a_key_is_taken_out_and_its_name_stays(
    line: str,
) -> None:
    assert Redactor().redact(line.format("q7.Wm+Z/aa0~bb1-cc2_3==")) == line.format(
        REDACTED
    )


@pytest.mark.parametrize("text", HARMLESS)
def test_words_that_look_a_little_like_keys_stay(text: str) -> None:
    assert Redactor().redact(text) == text


@untimed
@given(hidden_keys(), st.text(max_size=20), st.text(max_size=20))
def test_a_text_that_holds_a_secret_in_any_form_is_found_and_what_only_looks_like_one_is_not(
    pair: tuple[str, str], before: str, after: str
) -> None:
    secret, hidden = pair
    assert Redactor(frozenset({secret})).find(before + hidden + after) == secret
    assert Redactor(frozenset({secret + "?"})).find(" ".join(LOOKS.values())) is None


@pytest.mark.parametrize(
    "key",
    [
        *LOOKS.values(),
        "sk-recorded-0123456789abcdef0123",
        "0123456789abcdef",
        "deadbeefdeadbeefcafe",
        "550e8400-e29b-41d4-a716-446655440000",
        "canary-7Qw/9Zx+Rt2=Pl5~Kd8-environ",
        "sk-aaaaaaaaaaaaaaaaaaaaaaaaB",
        "hf_QwErTyUiOpAsDfGhJk",
        "gsk_a8b7c6d5e4f3a2b1c0",
        "1234567890123456",
        "xkcdqwrtpsdfghjklz",
    ],
)
def test_keys_are_secrets(key: str) -> None:
    assert is_secret(key)
    assert is_secret(f" {key}\n")


@pytest.mark.parametrize(
    "key",
    [
        *(
            "anything",
            "not-needed",
            "lm-studio",
            "EMPTY",
            "required",
            "password",
            "sk-no-key-required",
            "none",
            "x",
            "",
        ),
        *(
            "your-api-key-here",
            "dummy-key-for-local-server",
            "sk-this-server-asks-for-no-key",
            "<Your API Key Here>",
        ),
        *(
            "OPENAI_API_KEY_GOES_HERE",
            "local/llama.cpp/server-1",
            "sk-1234",
            "ollama",
            "Q7x9Zt",
            "----------------",
        ),
    ],
)
def test_placeholders_are_no_secrets(key: str) -> None:
    assert not is_secret(key)
    before = registered()
    assert not register_key(key, "openai-1")
    assert registered() == before
    assert redact(f"the key is {key}") == f"the key is {key}" or key.startswith("sk-")
    assert find_secret(f"the key is {key}") == ""


def test_a_registered_key_is_found_by_its_name() -> None:
    assert register_key("sk-found-0123456789abcdef0123", "openai-3fa1c27b")
    assert (
        find_secret(
            f"a\nb{base64.b64encode(b'xsk-found-0123456789abcdef0123y').decode()}c"
        )
        == "openai-3fa1c27b"
    )
    assert register("a secret without a name 1")
    name = find_secret("<a secret without a name 1>")
    assert name.startswith("secret-")
    assert "without" not in name


def test_the_first_line_to_hide_is_found() -> None:
    assert register("sk-lines-0123456789abcdef0123")
    assert find_line_to_hide("a\nsk-lines-0123456789abcdef0123\n") == 2
    assert find_line_to_hide(f"a\n\n{LOOKS['a GitHub token']}") == 3
    assert find_line_to_hide("a\nsk-lines-0123456\n") == 0


def test_colours_do_not_hide_a_secret() -> None:
    redactor = Redactor(frozenset({"correct-horse-battery"}))
    assert (
        redactor.redact_bytes(b"\x1b[1mcorrect-\x1b[0mhorse\x1b[m-battery\n")
        == MARK + b"\n"
    )
    assert (
        redactor.redact_bytes(b"\x1b[1mcorrect-horse-battery\x1b[0m\n")
        == b"\x1b[1m" + MARK + b"\x1b[0m\n"
    )


@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "sk-a",
        "gh",
        "ghp_",
        "github_pat_",
        "AIza",
        "AQ.",
        "Bearer ",
        "x-api-key: ",
        "\\",
    ],
)
def test_a_megabyte_of_beginnings_is_no_trouble(piece: str) -> None:
    text = piece * (1_000_000 // len(piece)) + "\n"
    assert len(Redactor(frozenset({"sk-ant-api03-abcdefgh"})).redact(text)) <= len(text)


def test_a_secret_is_registered_once_and_a_short_one_never() -> None:
    before = registered()
    assert not register("")
    assert not register(" seven77 \n")
    assert registered() == before
    assert register("registered-by-a-test\n")
    assert register("registered-by-a-test")
    assert registered() == before + 1


def test_secrets_are_registered_while_others_are_taken_out() -> None:
    secrets = [f"concurrent-secret-{number:03}" for number in range(40)]
    assert register(secrets[0])
    shown: list[str] = []

    def look() -> None:
        shown.extend(redact(f"a {secrets[0]} b") for _ in range(200))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for secret in secrets[1:]:
        register(secret)
        assert redact(f"<{secret}>") == f"<{REDACTED}>"
    for thread in threads:
        thread.join()
    assert set(shown) == {f"a {REDACTED} b"}


def test_a_redactor_does_not_show_what_it_knows() -> None:
    assert "correct-horse" not in repr(Redactor(frozenset({"correct-horse-battery"})))

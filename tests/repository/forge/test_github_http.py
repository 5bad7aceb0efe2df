"""One request to GitHub: what is sent, which redirects are followed, what a failure
means.
"""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agentos.errors import UsageError
from agentos.repository.forge import ForgeError, ForgeRepository
from agentos.repository.forge.github.address import Server
from agentos.repository.forge.github.forge import GitHub
from agentos.repository.forge.github.http import Http, NoResponse
from agentos.repository.forge.github.token import Token

TOKEN = Token("ghp_Loopback0Loopback0Loopback0Loopback0", "GITHUB_TOKEN")


@dataclass
class Site:
    """A server that answers by path, and what it was asked."""

    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    seen: list[tuple[str, str, str | None]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            token = self.headers.get("Authorization")
            site.seen.append((self.command, self.path, token))
            status, headers, body = site.answers.get(self.path, (200, {}, b"{}"))
            length = int(self.headers.get("Content-Length", 0))
            self.rfile.read(length)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    site.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def http(site: Site, token: Token | None = TOKEN) -> Http:
    return Http(Server(site.url, "127.0.0.1"), token)


def test_parameters_token_and_content_are_sent() -> None:
    with serving() as site:
        http(site).send("GET", "/issues", {"labels": "a b&c"}, None)
        http(site, None).send("POST", "/issues", {}, {"title": "x"})
    assert site.seen == [
        ("GET", "/issues?labels=a+b%26c", f"token {TOKEN.secret}"),
        ("POST", "/issues", None),
    ]


def test_a_redirect_is_followed_for_reading_on_the_same_server() -> None:
    with serving() as site:
        site.answers["/old"] = (301, {"Location": "/new"}, b"")
        site.answers["/new"] = (200, {}, b'{"full_name": "acme/new"}')
        response = http(site).send("GET", "/old", {}, None)
        assert json.loads(response.body) == {"full_name": "acme/new"}
        assert http(site).send("POST", "/old", {}, {}).status == 301
    assert [path for _, path, _ in site.seen] == ["/old", "/new", "/old"]


def test_the_token_goes_to_no_other_server() -> None:
    with serving() as site, serving() as other:
        site.answers["/old"] = (302, {"Location": f"{other.url}/"}, b"")
        with pytest.raises(ForgeError, match="another server"):
            http(site).send("GET", "/old", {}, None)
        with pytest.raises(ForgeError, match="another server"):
            http(site).send("GET", f"{other.url}/page=2", {}, None)
        assert other.seen == []


def test_redirects_without_end_are_given_up() -> None:
    with serving() as site:
        site.answers["/loop"] = (302, {"Location": "/loop"}, b"")
        assert http(site).send("GET", "/loop", {}, None).status == 302
    assert len(site.seen) < 10


def test_a_response_that_breaks_off_is_none() -> None:
    with serving() as site:
        site.answers["/cut"] = (200, {"Content-Length": "100"}, b"{")
        with pytest.raises(NoResponse, match="not whole"):
            http(site).send("GET", "/cut", {}, None)


def test_a_loopback_address_is_asked_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving() as site, serving() as proxy:
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, proxy.url)
        http(site).send("GET", "/", {}, None)
        assert len(site.seen) == 1
        assert proxy.seen == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_is_refused_unless_somebody_vouches_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"),
            *("-subj", "/CN=127.0.0.1", "-days", "1"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate")),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    with serving(context) as site:
        server = Server(site.url, "127.0.0.1")
        shop = ForgeRepository("github", "acme/shop")
        client = GitHub(shop, server, TOKEN, print)
        with pytest.raises(ForgeError, match="certificate cannot be verified"):
            client.describe()
        assert site.seen == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "certificate"))
        assert http(site).send("GET", "/", {}, None).status == 200


def test_a_server_without_tls_is_named_at_once() -> None:
    with serving() as site:
        address = site.url.replace("http://", "https://")
        with pytest.raises(ForgeError, match="does not speak TLS"):
            Http(Server(address, "127.0.0.1"), TOKEN).send("GET", "/", {}, None)


def test_a_proxy_for_everything_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with serving() as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        server = Server("http://github.example", "github.example")
        assert Http(server, None).send("GET", "/issues", {}, None).status == 200
        assert proxy.seen == [("GET", "http://github.example/issues", None)]


def test_an_unreadable_bundle_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/bundle.pem")
    with pytest.raises(UsageError, match=r"REQUESTS_CA_BUNDLE: /nowhere/bundle.pem"):
        Http(Server("https://github.example", "github.example"), None)

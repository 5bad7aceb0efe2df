"""Which files are never shown, by their names."""

from __future__ import annotations

import pytest

from agentos.repository.look.exclusion import is_left_out


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        "deploy/.env.production",
        "keys.toml",
        "tls/server.pem",
        "id_rsa",
        "home/.ssh/id_ed25519.pub",
        ".npmrc",
        "config/secrets.yaml",
        "credentials.json",
        "infra/prod.tfvars",
        "service-account-prod.json",
        "node_modules/x/index.js",
        "vendor/lib.go",
        "poetry.lock",
        "logo.png",
        "docs/lineage/active/1-lld/002-draft.md",
        "docs/lld/active/LLD-001.md",
        f"sk-{'a1' * 12}.txt",
    ],
)
def test_keys_foreign_code_and_papers_are_left_out(name: str) -> None:
    assert is_left_out(name)


@pytest.mark.parametrize(
    "name",
    [
        "secrets.py",
        "agentos/gateway/keys/pool.py",
        ".env.example",
        "docs/format.md",
        "src/tokens.py",
        "Makefile",
        "vendors/a.py",
    ],
)
def test_ordinary_files_are_not_left_out(name: str) -> None:
    assert not is_left_out(name)

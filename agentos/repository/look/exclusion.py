"""Tell which files are never shown to a model: keys, binaries, vendored and generated
files.
"""

from __future__ import annotations

from agentos.documents.hazards import has_secret

_VENDORED = """
.git .hg .svn .jj node_modules bower_components vendor third_party third-party .venv venv virtualenv site-packages
.tox .nox __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis .eggs .gradle .next .nuxt .terraform .idea
.vscode .agentos .ssh .aws .gnupg .kube .docker .direnv
"""
_GENERATED = "build dist target out env coverage htmlcov .cache tmp bin obj"
_OWN_FOLDERS = (
    "docs/answers/",
    "docs/lineage/",
    "docs/lld/",
    "docs/issues/",
    "docs/briefs/",
    "docs/reports/",
)
_KEY_FILES = """
.env .envrc .netrc _netrc .pypirc .npmrc .yarnrc .htpasswd .pgpass .my.cnf .git-credentials .dockercfg .dockerconfigjson
keys.toml kubeconfig credentials secrets secret .vault_pass vault_pass.txt master.key authorized_keys known_hosts
token token.txt tokens.json .token .boto .s3cfg auth.json htpasswd shadow passwd
"""
_KEY_BEGINNINGS = (
    "id_rsa id_dsa id_ecdsa id_ed25519 service-account service_account client_secret"
    " .env."
)
_KEY_ENDINGS = """
.pem .key .p12 .pfx .p8 .jks .keystore .kdbx .kdb .asc .gpg .pgp .ppk .der .crt .cer .csr .tfstate .tfstate.backup
.tfvars .ovpn .mobileprovision .keytab .env
"""
_LOCK_FILES = """
package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml poetry.lock pdm.lock uv.lock pipfile.lock cargo.lock
gemfile.lock composer.lock go.sum flake.lock bun.lockb packages.lock.json mix.lock pubspec.lock podfile.lock
"""
_OTHER_ENDINGS = """
.lock .min.js .min.css .map _pb2.py _pb2.pyi .pb.go .snap .png .jpg .jpeg .gif .bmp .ico .webp .tif .tiff .psd .pdf
.zip .gz .bz2 .xz .zst .tar .tgz .7z .rar .jar .war .class .pyc .pyo .pyd .so .dylib .dll .exe .bin .o .a .lib .obj
.wasm .db .sqlite .sqlite3 .mp3 .mp4 .mov .avi .wav .ogg .webm .ttf .otf .woff .woff2 .eot .parquet .npy .npz .pkl
.pickle .h5 .onnx .pt .safetensors .docx .xlsx .pptx .odt .iso .dmg .deb .rpm .whl .egg .svg .ipynb .log .csv .tsv
.jsonl
"""
_VENDORED_FOLDERS = frozenset(_VENDORED.split())
_GENERATED_FOLDERS = frozenset(_GENERATED.split())
_LEFT_OUT_NAMES = frozenset(_LOCK_FILES.split())
_LEFT_OUT_ENDS = tuple(_OTHER_ENDINGS.split())
_KEY_NAMES = frozenset(_KEY_FILES.split())
_KEY_STARTS = tuple(_KEY_BEGINNINGS.split())
_KEY_ENDS = tuple(_KEY_ENDINGS.split())
_KEY_STEMS = frozenset({"secrets", "secret", "credentials", "credential", "passwords"})
_DATA_ENDS = (
    ".json",
    ".toml",
    ".yaml",
    ".yml",
    ".ini",
    ".txt",
    ".xml",
    ".cfg",
    ".properties",
    ".enc",
)
_SHORTEST_SECRET = 16
_EXAMPLES = (".example", ".sample", ".template", ".dist")


def is_left_out(name: str) -> bool:
    """Tell from its path whether a file must not be shown."""
    folders, _, base = name.rpartition("/")
    is_vendored = not _VENDORED_FOLDERS.isdisjoint(folders.split("/"))
    if is_vendored or name.startswith(_OWN_FOLDERS):
        return True
    lowered = base.casefold()
    if lowered in _LEFT_OUT_NAMES or lowered.endswith(_LEFT_OUT_ENDS):
        return True
    if _holds_keys(lowered):
        return True
    return len(name) >= _SHORTEST_SECRET and has_secret(name)


def is_foreign_folder(name: str) -> bool:
    """Tell whether a walk without git skips a folder."""
    if name in _VENDORED_FOLDERS or name in _GENERATED_FOLDERS:
        return True
    return name.endswith(".egg-info")


def _holds_keys(base: str) -> bool:
    if base.endswith(_EXAMPLES):
        return False
    if base in _KEY_NAMES or base.startswith(_KEY_STARTS) or base.endswith(_KEY_ENDS):
        return True
    stem, dot, _ = base.partition(".")
    return bool(dot) and stem in _KEY_STEMS and base.endswith(_DATA_ENDS)

"""Builds the packages (PEP 517 and 660) with nothing but Python, so that pip needs no network."""

import base64
import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

# Set to the version of the service by build/client-packages.ts.
VERSION = "0.0.0"
# pip treats - and _ alike; this is what the files are called.
NAME = "mayfly_mail"
SUMMARY = "Disposable mailboxes of a Mayfly service: wait for a mail, its code or its link"

_ROOT = Path(__file__).parent
_DIST_INFO = f"{NAME}-{VERSION}.dist-info"
_METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: {SUMMARY}
License: MIT
Classifier: Framework :: Pytest
Classifier: Topic :: Software Development :: Testing
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {path: (_ROOT / path).read_bytes() for path in _modules()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {f"{NAME}.pth": f"{_ROOT}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    folder = f"{NAME}-{VERSION}"
    names = [name for name in ("LICENSE", "README.md", "build_backend.py", "pyproject.toml") if (_ROOT / name).exists()]
    files = {name: (_ROOT / name).read_bytes() for name in [*names, *_modules()]}
    with tarfile.open(Path(sdist_directory, f"{folder}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, content in {**files, "PKG-INFO": _metadata()}.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{folder}.tar.gz"


def _modules():
    return [f"{NAME}/{path.name}" for path in sorted((_ROOT / NAME).iterdir()) if path.suffix in (".py", ".typed")]


def _metadata():
    return _METADATA.encode() + (_ROOT / "README.md").read_bytes()


def _write_wheel(wheel_directory, files):
    tag = "py3-none-any"
    files[f"{_DIST_INFO}/METADATA"] = _metadata()
    files[f"{_DIST_INFO}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    files[f"{_DIST_INFO}/entry_points.txt"] = f"[pytest11]\nmayfly = {NAME}.pytest_plugin\n".encode()
    if (_ROOT / "LICENSE").exists():
        files[f"{_DIST_INFO}/LICENSE"] = (_ROOT / "LICENSE").read_bytes()
    record = f"{_DIST_INFO}/RECORD"
    lines = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[record] = "\n".join([*lines, f"{record},,\n"]).encode()
    file_name = f"{NAME}-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, file_name), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # The same bytes for the same sources.
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    return file_name


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()

"""A service that a test run starts."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import NamedTuple, Optional

_START_SECONDS = 60
_STOP_SECONDS = 30

_SETTINGS = {
    "MAYFLY_HOST": "127.0.0.1",
    "MAYFLY_DOMAINS": "mayfly.test",
    "MAYFLY_LOG_LEVEL": "error",
    "MAYFLY_RATE_LIMITS": "off",
    # No DNS queries.
    "MAYFLY_AUTH_CHECKS": "off",
    "MAYFLY_DAILY_CHECKS": "off",
    # Receivers of webhooks run beside the tests.
    "MAYFLY_WEBHOOK_ALLOW": "127.0.0.1,::1,localhost",
    "MAYFLY_WEBHOOK_RETRIES": "1s",
    "MAYFLY_HTTP_THREADS": "1",
    "MAYFLY_SMTP_THREADS": "1",
}


class MayflyService(NamedTuple):
    url: str
    #: Where the program under test sends its mail; None if the service was not started by the tests.
    smtp_port: Optional[int]
    #: Issues an API key; None likewise.
    issue_key: Optional[Callable[[], str]]


@contextlib.contextmanager
def run_service(command: str) -> Iterator[MayflyService]:
    """`command` is what `serve` is added to. Free ports, and a temporary folder for the data."""
    http_port, smtp_port = _free_ports()
    url = f"http://127.0.0.1:{http_port}"
    with tempfile.TemporaryDirectory(prefix="mayfly-test-") as folder, tempfile.TemporaryFile() as log:
        own = {"MAYFLY_HTTP_PORT": str(http_port), "MAYFLY_SMTP_PORT": str(smtp_port), "MAYFLY_DATA": folder}
        env = {**_SETTINGS, **os.environ, **own}
        process = subprocess.Popen(
            [*shlex.split(command), "serve"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # npx starts a shell, which does not pass signals on.
            start_new_session=True,
        )
        # If this process is killed, the pipe ends, and with it the service and its data.
        guard = subprocess.Popen(
            ["sh", "-c", 'cat; kill -s KILL -- "-$0"; rm -rf "$1"', str(process.pid), folder],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if not _becomes_ready(process, f"{url}/readyz"):
                log.seek(0)
                raise RuntimeError(f"{command} serve did not start:\n{log.read().decode(errors='replace')}")
            yield MayflyService(url, smtp_port, lambda: _issue_key(command, env))
        finally:
            _stop(process)
            # Before the process id can belong to another.
            guard.kill()
            guard.communicate()


def _issue_key(command: str, env: dict[str, str]) -> str:
    args = [*shlex.split(command), "key", "issue", "--plan", "starter", "--label", "tests", "--json"]
    key: str = json.loads(subprocess.run(args, env=env, stdout=subprocess.PIPE, check=True).stdout)["key"]
    return key


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def _becomes_ready(process: subprocess.Popen[bytes], url: str) -> bool:
    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    _signal(process, signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)

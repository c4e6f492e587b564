"""Fixtures for pytest. The service is the one at MAYFLY_URL, or started by `mayfly_command`, or at http://localhost:8080."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from mayfly_mail import Mailbox, Mayfly
from mayfly_mail._service import MayflyService, run_service


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("mayfly_command", "starts Mayfly for the test run, unless MAYFLY_URL is set: npx mayfly", default="")


@pytest.fixture(scope="session")
def mayfly_service(pytestconfig: pytest.Config) -> Iterator[MayflyService]:
    """The service, with its `url` and, if this run has started it, its `smtp_port`."""
    url, command = os.environ.get("MAYFLY_URL"), pytestconfig.getini("mayfly_command")
    if command and not url:
        with run_service(command) as service:
            yield service
    else:
        yield MayflyService(url or "http://localhost:8080", None, None)


@pytest.fixture(scope="session")
def mayfly(mayfly_service: MayflyService) -> Mayfly:
    """A client of the service."""
    return Mayfly(mayfly_service.url)


@pytest.fixture(scope="session")
def mayfly_with_key(mayfly_service: MayflyService) -> Mayfly:
    """A client with an API key: the one in MAYFLY_API_KEY, or one issued by the service that this run has started."""
    key = os.environ.get("MAYFLY_API_KEY")
    if not key and mayfly_service.issue_key:
        key = mayfly_service.issue_key()
    if not key:
        pytest.fail("Set MAYFLY_API_KEY to a key of the service at MAYFLY_URL")
    return Mayfly(mayfly_service.url, key)


@pytest.fixture
def mailbox(mayfly: Mayfly) -> Iterator[Mailbox]:
    """A new mailbox; it ends with the test."""
    with mayfly.create_mailbox() as created:
        yield created

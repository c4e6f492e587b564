"""Fixtures for pytest. The service is the one that MAYFLY_URL names, by default http://localhost:8080."""

import os

import pytest

from mayfly_mail import Mayfly, MayflyError


@pytest.fixture(scope="session")
def mayfly():
    """The service."""
    return Mayfly(os.environ.get("MAYFLY_URL", "http://localhost:8080"))


@pytest.fixture
def mailbox(mayfly):
    """A new mailbox; it ends with the test."""
    created = mayfly.create_mailbox()
    yield created
    try:
        created.end()
    except MayflyError as error:
        # The test may have ended it itself.
        if error.status != 401:
            raise

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from . import _types
from ._mailbox import Mailbox
from ._request import Connection, Deadline, MayflyError, Params


class Email(_types.Email):
    """A message as a key reads it, with the address it was sent to."""

    address: str


class EmailPage(NamedTuple):
    emails: list[Email]
    #: For the next page, which is another request of the plan; None at the end.
    cursor: Optional[str]


class Mayfly:
    """A Mayfly service. All timeouts are in seconds, for the whole call including retries."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self._connection = Connection(url, api_key)

    def create_mailbox(
        self,
        *,
        prefix: str | None = None,
        domain: str | None = None,
        domain_id: int | None = None,
        ttl: int | None = None,
        only_from: Sequence[str] | None = None,
        max_messages: int | None = None,
        label: str | None = None,
        use_gmail: bool | None = None,
        gmail_auto: bool | None = None,
        gmail_id: int | None = None,
        timeout: float = 30,
    ) -> Mailbox:
        """A new mailbox; as a context manager, it ends with the block. `ttl` is in seconds."""
        params: Params = {
            "prefix": prefix,
            "domain": domain,
            "domain_id": domain_id,
            "ttl": ttl,
            "only_from": only_from,
            "max_messages": max_messages,
            "label": label,
            "use_gmail": use_gmail,
            "gmail_auto": gmail_auto,
            "gmail_id": gmail_id,
        }
        session = self._connection.json(
            "api/create-session", Deadline(timeout), params=params, method="POST", headers=self._key_headers()
        )
        return Mailbox(self._connection, session)

    def open_mailbox(self, token: str, *, timeout: float = 30) -> Mailbox:
        """A mailbox that was created before."""
        found = self._connection.json("api/check-mail", Deadline(timeout), params={"limit": 1}, token=token)
        return Mailbox(self._connection, {**found, "token": token})

    def emails(
        self,
        *,
        to: str | None = None,
        from_: str | None = None,
        subject: str | None = None,
        since_id: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        wait: int | None = None,
        timeout: float | None = None,
    ) -> EmailPage:
        """One page of the mail that the key can read, newest first. `wait`: seconds to wait for mail, at most 55."""
        if not self._connection.api_key:
            raise MayflyError("emails() needs an api_key", code="invalid_key")
        params: Params = {
            "to": to,
            "from_": from_,
            "subject": subject,
            "since_id": since_id,
            "limit": limit,
            "cursor": cursor,
            "wait": wait,
        }
        deadline = Deadline(30 + (wait or 0) if timeout is None else timeout)
        body, headers = self._connection.fetch("emails", deadline, params=params, headers=self._key_headers())
        emails: Any = [
            {**email, "address": group["address"]} for group in json.loads(body) for email in group["emails"]
        ]
        found = re.search(r'<([^>]*)>; *rel="?next', headers.get("Link", ""))
        query = urllib.parse.urlsplit(found[1]).query if found else ""
        return EmailPage(emails, next(iter(urllib.parse.parse_qs(query).get("cursor", [])), None))

    def _key_headers(self) -> dict[str, str]:
        key = self._connection.api_key
        return {"APIKey": key} if key else {}

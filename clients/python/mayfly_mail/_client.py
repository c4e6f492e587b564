from __future__ import annotations

import re
import urllib.parse
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Optional, TypedDict, Union

from . import _types
from ._events import MailboxEvent, Position, event_params, mail_events
from ._mailbox import Mailbox
from ._own_domains import OwnDomains
from ._request import Connection, Deadline, Params, path_segment
from ._sessions import Sessions
from ._types import Domains, Usage, WholeEmail
from ._webhooks import Webhooks


class Email(_types.Email):
    """A message as a key reads it, with the address it was sent to."""

    address: str


class _EmailWithAddress(TypedDict):
    id: int
    address: str


#: An email by its id, or as `emails()`, `read_email()` or a webhook has returned it.
EmailRef = Union[int, _EmailWithAddress]


class _EmailPage(NamedTuple):
    emails: list[Email]
    #: For the next page, which is another request of the plan; None at the end.
    cursor: Optional[str]


class EmailPage(_EmailPage):
    """The emails and the cursor, as a tuple of two."""

    #: With `q`: there was no time to search all messages.
    incomplete: bool = False


class Mayfly:
    """A Mayfly service. All timeouts are in seconds, for the whole call including retries."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self._connection = Connection(url, api_key)
        self.sessions: Sessions = Sessions(self._connection)
        self.own_domains: OwnDomains = OwnDomains(self._connection)
        self.webhooks: Webhooks = Webhooks(self._connection)

    def create_mailbox(
        self,
        *,
        prefix: str | None = None,
        domain: str | None = None,
        domain_id: int | None = None,
        subdomain: str | None = None,
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
            "subdomain": subdomain,
            "ttl": ttl,
            "only_from": only_from,
            "max_messages": max_messages,
            "label": label,
            "use_gmail": use_gmail,
            "gmail_auto": gmail_auto,
            "gmail_id": gmail_id,
        }
        headers = self._connection.key_headers() if self._connection.api_key else {}
        session = self._connection.json(
            "api/create-session", Deadline(timeout), params=params, method="POST", headers=headers
        )
        return Mailbox(self._connection, session)

    def open_mailbox(self, token: str, *, timeout: float = 30) -> Mailbox:
        """A mailbox that was created before."""
        found = self._connection.json("api/check-mail", Deadline(timeout), params={"limit": 1}, token=token)
        return Mailbox(self._connection, {**found, "token": token})

    def events(
        self,
        mailboxes: Sequence[Mailbox],
        *,
        from_: str | None = None,
        subject: str | None = None,
        has_code: bool | None = None,
        has_link: bool | None = None,
        since_id: int | None = None,
    ) -> Generator[MailboxEvent, None, None]:
        """What happens in up to 20 mailboxes, in one stream that ends with the last of them; see `events` of a mailbox."""
        params = event_params(from_, subject, has_code, has_link, since_id)
        return self._events(mailboxes, params, Position())

    def _events(
        self, mailboxes: Sequence[Mailbox], params: Params, position: Position
    ) -> Generator[MailboxEvent, None, None]:
        tokens, emails = [one.token for one in mailboxes], [one.email for one in mailboxes]
        return mail_events(self._connection, tokens, emails, params, position)

    def domains(self, *, timeout: float = 30) -> Domains:
        """The mail domains and Gmail accounts that `create_mailbox` may be given by `id`."""
        domains: Domains = self._connection.json("api/domains", Deadline(timeout))
        return domains

    def usage(self, *, timeout: float = 30) -> Usage:
        """The used and remaining requests of the key. Free."""
        usage: Usage = self._connection.json_with_key("usage", Deadline(timeout))
        return usage

    def emails(
        self,
        *,
        to: str | None = None,
        from_: str | None = None,
        subject: str | None = None,
        q: str | None = None,
        since_id: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        wait: int | None = None,
        timeout: float | None = None,
    ) -> EmailPage:
        """One page of the mail that the key can read, newest first. `wait`: seconds to wait for mail, at most 55.

        `q` is text in the sender, the subject or the body.
        """
        params: Params = {
            "to": to,
            "from_": from_,
            "subject": subject,
            "q": q,
            "since_id": since_id,
            "limit": limit,
            "cursor": cursor,
            "wait": wait,
        }
        deadline = Deadline(30 + (wait or 0) if timeout is None else timeout)
        key = self._connection.key_headers()
        body, headers = self._connection.fetch("emails", deadline, params=params, headers=key)
        emails: Any = [
            {**email, "address": group["address"]} for group in self._connection.parse(body) for email in group["emails"]
        ]
        found = re.search(r'<([^>]*)>; *rel="?next', headers.get("Link", ""))
        query = urllib.parse.urlsplit(found[1]).query if found else ""
        page = EmailPage(emails, next(iter(urllib.parse.parse_qs(query).get("cursor", [])), None))
        page.incomplete = "X-Incomplete" in headers
        return page

    def read_email(self, email: EmailRef, *, to: str | None = None, timeout: float = 30) -> WholeEmail:
        """One email in full. Like the downloads below, it is a request of the plan.

        `to` is the address it was sent to, if the operator requires it; known if the email is not given by its id.
        """
        path, params = _email_path(email, to)
        whole: WholeEmail = self._connection.json_with_key(path, Deadline(timeout), params=params)["email"]
        return whole

    def raw_email(self, email: EmailRef, *, to: str | None = None, timeout: float = 30) -> bytes:
        """The email as it was received."""
        return self._download(email, to, "/raw", timeout)

    def email_attachment(
        self, email: EmailRef, index: int, *, to: str | None = None, timeout: float = 30
    ) -> bytes:
        """The content of an attachment, by its `index` in the email."""
        return self._download(email, to, f"/attachments/{path_segment(index)}", timeout)

    def _download(self, email: EmailRef, to: str | None, part: str, timeout: float) -> bytes:
        path, params = _email_path(email, to)
        key = self._connection.key_headers()
        return self._connection.fetch(path + part, Deadline(timeout), params=params, headers=key)[0]


def _email_path(email: EmailRef, to: str | None) -> tuple[str, Params]:
    if isinstance(email, int):
        return f"emails/{path_segment(email)}", {"to": to}
    return f"emails/{path_segment(email['id'])}", {"to": to or email["address"]}

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, NamedTuple, Optional, TypeVar, Union

from ._events import MailEvent, Position, event_params, mail_events
from ._request import Connection, Deadline, MayflyError, MayflyTimeoutError, Params
from ._types import Header, Message, MessageSummary, SessionSettings

# Of one long poll; the server allows 55 s.
_MAX_WAIT = 50
# After that, also older messages that were parsed meanwhile are found.
_MAX_PARSE_WAIT = 5
_LIST_LIMIT = 500
_FINAL_CHECK = 10
_LINK_KINDS = ("verify", "sign_in", "reset")

#: A message by its id, or as it was listed or read.
MessageRef = Union[int, MessageSummary, Message]
LinkKind = Literal["verify", "sign_in", "reset", "unsubscribe", "other"]
_T = TypeVar("_T")


class CodeAndLink(NamedTuple):
    code: str
    link: str


class Mailbox:
    """Use `create_mailbox` or `open_mailbox`. As a context manager, it ends with the block."""

    def __init__(self, connection: Connection, session: Mapping[str, Any]) -> None:
        self._connection = connection
        self.email: str = session["email"]
        #: Anyone who has it can read the mailbox.
        self.token: str = session["token"]
        self.expires_at: datetime = _time(session)
        # Messages that a waiting method has returned.
        self._returned: set[int] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Mailbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.end()
        except MayflyError as failure:
            # It may have ended before.
            if failure.status != 401:
                raise

    def wait_for_message(
        self, *, from_: str | None = None, subject: str | None = None, timeout: float = 30
    ) -> Message:
        """The next message that matches, whether it is there already or still to come.

        Each message is returned once by all waiting methods together, also if they run in parallel, the oldest first.
        """
        return self._next("message", timeout, {"from_": from_, "subject": subject}, self._read)

    def wait_for_code(self, *, from_: str | None = None, subject: str | None = None, timeout: float = 30) -> str:
        """The code of the next message that has one."""
        wanted: Params = {"from_": from_, "subject": subject, "has_code": True}
        return self._next("message with a code", timeout, wanted, lambda summary, _: summary["code"])

    def wait_for_link(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        kind: LinkKind | None = None,
        timeout: float = 30,
    ) -> str:
        """The link of the next message that has one: to verify, to sign in or to reset a password, unless `kind` names another."""

        def pick(summary: MessageSummary, deadline: Deadline) -> str | None:
            return _link(self._read(summary, deadline), kind)

        wanted: Params = {"from_": from_, "subject": subject, "has_link": _is_default(kind)}
        return self._next("message with a link", timeout, wanted, pick)

    def wait_for_code_and_link(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        kind: LinkKind | None = None,
        timeout: float = 30,
    ) -> CodeAndLink:
        """Both of the next message that has a code and a link; `kind` as in `wait_for_link`."""

        def pick(summary: MessageSummary, deadline: Deadline) -> CodeAndLink | None:
            code, link = summary["code"], _link(self._read(summary, deadline), kind)
            return CodeAndLink(code, link) if code and link else None

        wanted: Params = {"from_": from_, "subject": subject, "has_code": True, "has_link": _is_default(kind)}
        return self._next("message with a code and a link", timeout, wanted, pick)

    def expect_no_message(self, *, from_: str | None = None, subject: str | None = None, timeout: float = 5) -> None:
        """Waits for the whole timeout; raises "unexpected_message" if a message that matches is there or arrives."""
        found: MessageSummary | None
        try:
            found = self._next("message", timeout, {"from_": from_, "subject": subject}, lambda summary, _: summary)
        except MayflyTimeoutError:
            # A server that no longer responds proves nothing.
            last = self.messages(timeout=_FINAL_CHECK, from_=from_, subject=subject)
            found = next((summary for summary in last if summary["id"] not in self._returned), None)
        if found:
            raise MayflyError(f"Unexpected message at {self.email}: {_describe(found)}", code="unexpected_message")

    def messages(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        has_code: bool | None = None,
        has_link: bool | None = None,
        q: str | None = None,
        since_id: int | None = None,
        limit: int | None = None,
        timeout: float = 30,
    ) -> list[MessageSummary]:
        """The messages, newest first. `q` is text in the sender, the subject or the body."""
        params: Params = {
            "from_": from_,
            "subject": subject,
            "has_code": has_code,
            "has_link": has_link,
            "q": q,
            "since_id": since_id,
            "limit": limit,
        }
        return self._list(Deadline(timeout), params)

    def read(self, message: MessageRef, *, timeout: float = 30) -> Message:
        """A message in full, by its id or its summary."""
        return self._read(message, Deadline(timeout))

    def headers(self, message: MessageRef, *, timeout: float = 30) -> list[Header]:
        """The header lines, in their order."""
        return self._read(message, Deadline(timeout), headers=True)["headers"]

    def raw(self, message: MessageRef, *, timeout: float = 30) -> bytes:
        """The message as it was received."""
        params = {"id": _id(message)}
        return self._connection.fetch("api/raw-mail", Deadline(timeout), params=params, token=self.token)[0]

    def attachment(self, message: MessageRef, index: int, *, timeout: float = 30) -> bytes:
        """The content of an attachment, by its `index` in the message."""
        params = {"id": _id(message), "index": index}
        return self._connection.fetch("api/attachment", Deadline(timeout), params=params, token=self.token)[0]

    def delete(self, messages: MessageRef | Sequence[MessageRef], *, timeout: float = 30) -> int:
        """Deletes one message, or up to 500; returns how many there were."""
        params: Params
        if isinstance(messages, Sequence):
            if not messages:
                return 0
            # Of several, unknown ones are ignored.
            params = {"ids": [str(_id(one)) for one in messages]}
        else:
            params = {"id": _id(messages)}
        response = self._connection.json(
            "api/delete-mail", Deadline(timeout), params=params, method="POST", token=self.token
        )
        deleted: int = response["deleted"]
        return deleted

    def events(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        has_code: bool | None = None,
        has_link: bool | None = None,
        since_id: int | None = None,
    ) -> Generator[MailEvent, None, None]:
        """What happens in the mailbox from now on, or after `since_id`, until it ends: dictionaries with a `type`.

        A connection that is lost is resumed without a gap.
        """
        params = event_params(from_, subject, has_code, has_link, since_id)
        return self._events(params, Position())

    def _events(self, params: Params, position: Position) -> Generator[MailEvent, None, None]:
        return mail_events(self._connection, [self.token], [], params, position)

    def extend(self, *, ttl: int | None = None, timeout: float = 30) -> None:
        """Sets the expiry to `ttl` seconds from now; without it, to the default life."""
        session = self._connection.json(
            "api/extend-session", Deadline(timeout), params={"ttl": ttl}, method="POST", token=self.token
        )
        self.expires_at = _time(session)

    def settings(self, *, timeout: float = 30) -> SessionSettings:
        """The rules, with how many mails they have refused, and the label."""
        settings: SessionSettings = self._connection.json(
            "api/check-mail", Deadline(timeout), params={"limit": 1}, token=self.token
        )
        return settings

    def update(
        self,
        *,
        only_from: Sequence[str] | None = None,
        max_messages: int | None = None,
        label: str | None = None,
        clear: Sequence[Literal["only_from", "max_messages", "label"]] | None = None,
        timeout: float = 30,
    ) -> SessionSettings:
        """Changes what is given; `clear` names what to remove."""
        params: Params = {"only_from": only_from, "max_messages": max_messages, "label": label, "clear": clear}
        settings: SessionSettings = self._connection.json(
            "api/update-session", Deadline(timeout), params=params, method="POST", token=self.token
        )
        return settings

    def end(self, *, timeout: float = 30) -> None:
        """Ends the mailbox at once and deletes its mail."""
        self._connection.json("api/delete-session", Deadline(timeout), method="POST", token=self.token)

    def _list(self, deadline: Deadline, params: Params) -> list[MessageSummary]:
        found = self._connection.json("api/check-mail", deadline, params=params, token=self.token)
        messages: list[MessageSummary] = found["messages"]
        return messages

    def _read(self, given: MessageRef, deadline: Deadline, *, headers: bool = False) -> Message:
        params = {"id": _id(given), "headers": headers}
        found = self._connection.json("api/read-mail", deadline, params=params, token=self.token)
        message: Message = found["message"]
        return message

    def _next(
        self, what: str, timeout: float, wanted: Params, pick: Callable[[MessageSummary, Deadline], Optional[_T]]
    ) -> _T:
        """What `pick` makes of the oldest message for which it makes something."""
        deadline, seen = Deadline(timeout), self._returned.copy()
        try:
            while True:
                wait = 0 if seen else deadline.wait_seconds(_MAX_WAIT)
                found = self._list(deadline, {**wanted, "limit": _LIST_LIMIT, "wait": wait})
                for summary in reversed([one for one in found if one["id"] not in seen]):
                    seen.add(summary["id"])
                    if summary["id"] in self._returned:
                        continue
                    try:
                        picked = pick(summary, deadline)
                    except MayflyError as error:
                        # Somebody else has deleted it meanwhile.
                        if error.code != "message_not_found":
                            raise
                        continue
                    if picked is not None and self._claim(summary["id"], deadline):
                        return picked
                if seen:
                    # All are listed again afterwards, because the oldest may be the last to be parsed.
                    is_parsed = wanted.get("has_code") or wanted.get("has_link")
                    wait = deadline.wait_seconds(_MAX_PARSE_WAIT if is_parsed else _MAX_WAIT)
                    self._list(deadline, {**wanted, "wait": wait, "since_id": found[0]["id"] if found else 0})
        except MayflyTimeoutError:
            if deadline.is_abandoned():
                raise
            conditions = (f" from {wanted['from_']}" if wanted["from_"] else "") + (
                f" with “{wanted['subject']}” in the subject" if wanted["subject"] else ""
            )
            raise MayflyTimeoutError(
                f"No {what}{conditions} at {self.email} within {timeout} s; {self._contents()}"
            ) from None

    def _claim(self, message_id: int, deadline: Deadline) -> bool:
        """False if another wait, in another thread, has returned the message meanwhile."""
        with self._lock:
            if deadline.is_abandoned():
                raise deadline.error()
            if message_id in self._returned:
                return False
            self._returned.add(message_id)
            return True

    def _contents(self) -> str:
        """For the message of an error."""
        try:
            found = self.messages(limit=10, timeout=_FINAL_CHECK)
        except MayflyError as error:
            return f"the mailbox cannot be read: {error}"
        lines = [_describe(one) + (" (already returned)" if one["id"] in self._returned else "") for one in found]
        return f"the mailbox has {', '.join(lines)}" if found else "the mailbox is empty"

def _link(message: Message, kind: str | None) -> str | None:
    kinds = (kind,) if kind else _LINK_KINDS
    return next((link["url"] for link in message["links"] if link["kind"] in kinds), None)


def _is_default(kind: LinkKind | None) -> bool | None:
    """Whether the server selects links of this kind."""
    return True if kind is None or kind in _LINK_KINDS else None


def _id(message: MessageRef) -> int:
    return message if isinstance(message, int) else message["id"]


def _describe(summary: MessageSummary) -> str:
    return f"“{summary['subject']}” from {summary['sender_email']}"


def _time(session: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(session["expires_at_iso"].replace("Z", "+00:00"))

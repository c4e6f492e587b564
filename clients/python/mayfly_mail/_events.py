"""Streams of events, which reconnect without gaps."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Generator, Sequence
from typing import Any, Literal, Optional, TypedDict, Union

from ._request import Connection, Deadline, MayflyError, Params
from ._types import MessageSummary

# The server sends a heartbeat every 15 s.
_SILENCE = 45
_PASSING = (0, 429, 502, 503, 504)


class MessageEvent(TypedDict):
    """`updated` follows once a message is parsed, with its code and preview."""

    type: Literal["message", "updated"]
    message: MessageSummary


class DeletedEvent(TypedDict):
    type: Literal["deleted"]
    id: int


class EndEvent(TypedDict):
    """The last event of a mailbox."""

    type: Literal["end"]
    reason: Literal["expired", "deleted"]


MailEvent = Union[MessageEvent, DeletedEvent, EndEvent]


class MailboxMessageEvent(MessageEvent):
    email: str


class MailboxDeletedEvent(DeletedEvent):
    email: str


class MailboxEndEvent(EndEvent):
    email: str


#: An event with the address of its mailbox.
MailboxEvent = Union[MailboxMessageEvent, MailboxDeletedEvent, MailboxEndEvent]


class Position:
    """What a stream is resumed with."""

    def __init__(self) -> None:
        self.last_id: Optional[str] = None
        self.retry_ms: int = 1_000
        self.response: Optional[http.client.HTTPResponse] = None
        self.is_closed: bool = False

    def close(self) -> None:
        """Ends the stream, also from another thread while it is read."""
        self.is_closed = True
        response = self.response
        if response is None:
            return
        try:
            with socket.socket(fileno=socket.dup(response.fileno())) as connection:
                connection.shutdown(socket.SHUT_RDWR)
        except (AttributeError, OSError, ValueError):
            # It has ended.
            pass


def event_params(
    from_: str | None, subject: str | None, has_code: bool | None, has_link: bool | None, since_id: int | None
) -> Params:
    return {"from_": from_, "subject": subject, "has_code": has_code, "has_link": has_link, "since_id": since_id}


def mail_events(
    connection: Connection, tokens: Sequence[str], emails: Sequence[str], params: Params, position: Position
) -> Generator[Any, None, None]:
    """The events of one or several mailboxes. Without `emails`, their addresses, events do not tell of which."""
    reported: set[tuple[str | None, int | None]] = set()
    unended = len(tokens)
    while not position.is_closed:
        try:
            for event in _stream(connection, ",".join(tokens), emails, params, position):
                # After a reconnect the server may repeat messages, and the ends of some mailboxes.
                if event["type"] in ("message", "end"):
                    key = (event.get("email"), event["message"]["id"] if "message" in event else None)
                    if key in reported:
                        continue
                    reported.add(key)
                yield event
                unended -= event["type"] == "end"
                if unended == 0:
                    return
        except (MayflyError, http.client.HTTPException, OSError) as error:
            # Not MayflyTimeoutError alone: a lost connection is an OSError, too.
            if not position.is_closed and (
                position.last_id is None or getattr(error, "status", 0) not in _PASSING
            ):
                raise
        if not position.is_closed:
            time.sleep(position.retry_ms / 1_000)


def _stream(
    connection: Connection, token: str, emails: Sequence[str], params: Params, position: Position
) -> Generator[dict[str, Any], None, None]:
    """One connection, until it ends or is silent for too long. Updates the position to resume at."""
    headers = {} if position.last_id is None else {"Last-Event-ID": position.last_id}
    response = connection.open(
        "api/events", Deadline(30), params=params, token=token, headers=headers, socket_timeout=_SILENCE
    )
    with response:
        position.response = response
        if position.is_closed:
            return
        fields: dict[str, str] = {}
        for line in response:
            name, _, value = line.decode().rstrip("\r\n").partition(":")
            if name or value:
                fields[name] = value.removeprefix(" ")
                continue
            position.last_id = fields.get("id", position.last_id)
            position.retry_ms = int(fields.get("retry", position.retry_ms))
            if "data" in fields:
                yield _event(fields.get("event", "message"), json.loads(fields["data"]), emails)
            fields = {}


def _event(kind: str, data: dict[str, Any], emails: Sequence[str]) -> dict[str, Any]:
    # Of several mailboxes, one that ended before has only an index.
    index, email = data.pop("index", 0), data.pop("email", None)
    event = {"type": kind, "message": data} if kind in ("message", "updated") else {"type": kind, **data}
    return {**event, "email": email or emails[index]} if emails else event

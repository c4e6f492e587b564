from __future__ import annotations

from typing import NamedTuple, Optional

from ._mailbox import Mailbox
from ._request import Connection, Deadline, Params
from ._types import KeySession


class SessionPage(NamedTuple):
    sessions: list[KeySession]
    #: For the next page; None at the end.
    cursor: Optional[str]


class Sessions:
    """The mailboxes that were created with the key; use `sessions` of a `Mayfly`. All calls are free."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        permanent: bool | None = None,
        timeout: float = 30,
    ) -> SessionPage:
        """One page, newest first. `permanent`: only those that do not expire, at domains of the key."""
        params: Params = {"limit": limit, "cursor": cursor, "permanent": permanent}
        found = self._connection.json_with_key("sessions", Deadline(timeout), params=params)
        return SessionPage(found["sessions"], found["next_cursor"])

    def end(self, email: str, *, timeout: float = 30) -> None:
        """Ends a mailbox at once and deletes its mail."""
        self._connection.json_with_key("sessions/end", Deadline(timeout), params={"email": email}, method="POST")

    def roll_token(self, email: str, *, timeout: float = 30) -> Mailbox:
        """The mailbox with a new token; the former one becomes invalid."""
        session = self._connection.json_with_key(
            "sessions/roll-token", Deadline(timeout), params={"email": email}, method="POST"
        )
        return Mailbox(self._connection, session)

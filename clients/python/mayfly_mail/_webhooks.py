from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from ._request import Connection, Deadline, Params, path_segment
from ._types import Delivery, DeliveryOutcome, NewWebhook, Webhook


class RolledSecret(TypedDict):
    secret: str
    old_secret_until: str
    old_secret_until_iso: str


class Webhooks:
    """The webhooks of the key; use `webhooks` of a `Mayfly`. All calls are free."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self,
        url: str,
        *,
        to: str | None = None,
        from_: str | None = None,
        subject: str | None = None,
        since_id: int | None = None,
        timeout: float = 30,
    ) -> NewWebhook:
        """The `secret` in the result verifies signatures; it is not shown again.

        `since_id`: deliver messages newer than this id; by default those that arrive from now on.
        """
        params: Params = {"url": url, "to": to, "from_": from_, "subject": subject, "since_id": since_id}
        created = self._connection.json_with_key("webhooks", Deadline(timeout), params=params, method="POST")
        webhook: NewWebhook = created["webhook"]
        return webhook

    def list(self, *, timeout: float = 30) -> builtins.list[Webhook]:
        """Oldest first."""
        webhooks: builtins.list[Webhook] = self._connection.json_with_key("webhooks", Deadline(timeout))["webhooks"]
        return webhooks

    def read(self, id: str, *, timeout: float = 30) -> Webhook:
        webhook: Webhook = self._connection.json_with_key(_path(id), Deadline(timeout))["webhook"]
        return webhook

    def update(
        self,
        id: str,
        *,
        url: str | None = None,
        to: str | None = None,
        from_: str | None = None,
        subject: str | None = None,
        clear: Sequence[Literal["to", "from", "subject"]] | None = None,
        state: Literal["active", "paused"] | None = None,
        timeout: float = 30,
    ) -> Webhook:
        """Changes what is given; the secret and the position stay. `clear` names conditions to remove.

        The state "paused" stops deliveries; "active" resumes them, and enables a disabled webhook.
        """
        params: Params = {
            "url": url,
            "to": to,
            "from_": from_,
            "subject": subject,
            "clear": clear,
            "state": state,
        }
        webhook: Webhook = self._post(_path(id), timeout, params)["webhook"]
        return webhook

    def deliveries(self, id: str, *, timeout: float = 30) -> builtins.list[Delivery]:
        """The last 100 attempts, newest first."""
        found = self._connection.json_with_key(_path(id, "deliveries"), Deadline(timeout))
        deliveries: builtins.list[Delivery] = found["deliveries"]
        return deliveries

    def test(self, id: str, *, timeout: float = 30) -> DeliveryOutcome:
        """Sends an event of type "webhook.test" now."""
        outcome: DeliveryOutcome = self._post(_path(id, "test"), timeout)["delivery"]
        return outcome

    def replay(self, id: str, *, since_id: int, timeout: float = 30) -> Webhook:
        """Delivers messages newer than `since_id` again; each counts as a request of the plan."""
        webhook: Webhook = self._post(_path(id, "replay"), timeout, {"since_id": since_id})["webhook"]
        return webhook

    def roll_secret(self, id: str, *, timeout: float = 30) -> RolledSecret:
        """For 24 hours, deliveries are signed with both secrets."""
        rolled: RolledSecret = self._post(_path(id, "roll-secret"), timeout)
        return rolled

    def enable(self, id: str, *, timeout: float = 30) -> Webhook:
        """Enables a disabled webhook, or retries a failing one now."""
        webhook: Webhook = self._post(_path(id, "enable"), timeout)["webhook"]
        return webhook

    def delete(self, id: str, *, timeout: float = 30) -> None:
        self._post(_path(id, "delete"), timeout)

    def _post(self, path: str, timeout: float, params: Params | None = None) -> Any:
        return self._connection.json_with_key(path, Deadline(timeout), params=params, method="POST")


def _path(id: str, action: str | None = None) -> str:
    path = f"webhooks/{path_segment(id)}"
    return path if action is None else f"{path}/{action}"

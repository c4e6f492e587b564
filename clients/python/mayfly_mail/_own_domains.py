from __future__ import annotations

import builtins
from typing import Any

from ._request import Connection, Deadline, Params, path_segment
from ._types import OwnDomain


class OwnDomains:
    """The domains that the holder of the key has brought; use `own_domains` of a `Mayfly`. All calls are free."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, domain: str, *, timeout: float = 30) -> OwnDomain:
        """Create the DNS records in the result, then call `verify`."""
        added = self._post("domains", timeout, {"domain": domain})
        del added["status"]
        claim: OwnDomain = added
        return claim

    def list(self, *, timeout: float = 30) -> builtins.list[OwnDomain]:
        """Oldest first."""
        domains: builtins.list[OwnDomain] = self._connection.json_with_key("domains", Deadline(timeout))["domains"]
        return domains

    def read(self, id: str, *, timeout: float = 30) -> OwnDomain:
        domain: OwnDomain = self._connection.json_with_key(_path(id), Deadline(timeout))["domain"]
        return domain

    def verify(self, id: str, *, timeout: float = 30) -> OwnDomain:
        """Looks for the TXT record now; raises `record_missing` if there is none."""
        domain: OwnDomain = self._post(f"{_path(id)}/verify", timeout)["domain"]
        return domain

    def update(self, id: str, *, catch_all: bool, timeout: float = 30) -> OwnDomain:
        """`catch_all`: whether mail to addresses without a mailbox is accepted."""
        domain: OwnDomain = self._post(_path(id), timeout, {"catch_all": catch_all})["domain"]
        return domain

    def delete(self, id: str, *, timeout: float = 30) -> None:
        """With all its mailboxes and mail."""
        self._post(f"{_path(id)}/delete", timeout)

    def _post(self, path: str, timeout: float, params: Params | None = None) -> Any:
        return self._connection.json_with_key(path, Deadline(timeout), params=params, method="POST")


def _path(id: str) -> str:
    return f"domains/{path_segment(id)}"

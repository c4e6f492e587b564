"""Requests with a deadline, retries and errors."""

from __future__ import annotations

import contextvars
import email.message
import email.utils
import http.client
import json
import math
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

#: None is left out.
Params = Mapping[str, Union[str, int, Sequence[str], None]]

#: Set for calls of the async client: the event tells that nobody waits for the result any more.
abandoned: contextvars.ContextVar[Optional[threading.Event]] = contextvars.ContextVar("abandoned", default=None)
# Of one long poll of such a call: a thread cannot be interrupted.
_MAX_ASYNC_WAIT = 5
# In seconds; sockets refuse a timeout of more than 24 days.
_MAX_SOCKET_TIMEOUT = 1_000_000


class MayflyError(Exception):
    """The server refused a request, or could not be reached: then `status` is 0."""

    def __init__(self, message: str, *, code: str, status: int = 0, request_id: str | None = None) -> None:
        super().__init__(message)
        #: HTTP status.
        self.status: int = status
        #: The stable code of the API, such as "session_expired".
        self.code: str = code
        #: To find the request in the server's log.
        self.request_id: str | None = request_id


class MayflyTimeoutError(MayflyError, TimeoutError):
    """What was waited for did not happen in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="timeout")


class Deadline:
    """The time that all requests of one call share."""

    def __init__(self, timeout: float) -> None:
        self.timeout: float = timeout
        self._end: float = time.monotonic() + timeout
        self._abandoned: threading.Event | None = abandoned.get()

    def remaining(self) -> float:
        return 0 if self.is_abandoned() else self._end - time.monotonic()

    def is_abandoned(self) -> bool:
        return self._abandoned is not None and self._abandoned.is_set()

    def wait_seconds(self, most: int) -> int:
        """For one long poll."""
        longest = most if self._abandoned is None else min(most, _MAX_ASYNC_WAIT)
        return max(1, math.ceil(min(longest, self.remaining())))

    def error(self) -> MayflyTimeoutError:
        return MayflyTimeoutError(f"No response within {self.timeout} s")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The service does not redirect, and another server must not see a token or key."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)
_RETRIED = (429, 503)


class Connection:
    def __init__(self, url: str, api_key: str | None) -> None:
        self.url: str = url.rstrip("/") + "/"
        self.api_key: str | None = api_key

    def open(
        self,
        path: str,
        deadline: Deadline,
        *,
        params: Params | None = None,
        method: str = "GET",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        socket_timeout: float | None = None,
    ) -> http.client.HTTPResponse:
        """Sends a request until it is answered: 429 and 503 are retried when the server says so, if there is time."""
        while True:
            request = self._request(path, params or {}, method, token, headers or {})
            if deadline.remaining() <= 0:
                raise deadline.error()
            try:
                response: http.client.HTTPResponse = _opener.open(
                    request, timeout=socket_timeout or min(_MAX_SOCKET_TIMEOUT, deadline.remaining())
                )
                return response
            except urllib.error.HTTPError as refusal:
                with refusal:
                    error, delay = _to_error(refusal), _retry_delay(refusal.headers)
                if error.status not in _RETRIED or delay >= deadline.remaining():
                    raise error from None
                time.sleep(delay)
            except (OSError, http.client.HTTPException) as failure:
                raise self.to_error(failure, deadline) from failure

    def fetch(
        self,
        path: str,
        deadline: Deadline,
        *,
        params: Params | None = None,
        method: str = "GET",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[bytes, email.message.Message]:
        """The body and the headers of a response."""
        try:
            with self.open(path, deadline, params=params, method=method, token=token, headers=headers) as response:
                return response.read(), response.headers
        except MayflyError:
            raise
        except (OSError, http.client.HTTPException) as error:
            raise self.to_error(error, deadline) from error

    def json(
        self,
        path: str,
        deadline: Deadline,
        *,
        params: Params | None = None,
        method: str = "GET",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        body, _ = self.fetch(path, deadline, params=params, method=method, token=token, headers=headers)
        return self.parse(body)

    def parse(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except ValueError as error:
            raise MayflyError(f"{self.url} did not respond with JSON: {error}", code="network") from error

    def json_with_key(
        self, path: str, deadline: Deadline, *, params: Params | None = None, method: str = "GET"
    ) -> Any:
        return self.json(path, deadline, params=params, method=method, headers=self.key_headers())

    def key_headers(self) -> dict[str, str]:
        if not self.api_key:
            raise MayflyError("This needs an api_key", code="invalid_key")
        return {"APIKey": self.api_key}

    def to_error(self, error: Exception, deadline: Deadline) -> MayflyError:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError) or deadline.remaining() <= 0:
            return deadline.error()
        return MayflyError(f"{self.url} cannot be reached: {reason}", code="network")

    def _request(
        self, path: str, params: Params, method: str, token: str | None, headers: Mapping[str, str]
    ) -> urllib.request.Request:
        url = urllib.parse.urljoin(self.url, path)
        encoded = urllib.parse.urlencode(
            {name.rstrip("_"): _encode(value) for name, value in params.items() if value is not None}
        )
        if method == "GET" and encoded:
            url = f"{url}?{encoded}"
        body = encoded.encode() if method == "POST" else None
        request = urllib.request.Request(url, data=body, method=method, headers=dict(headers))
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        return request


def path_segment(value: str | int) -> str:
    """An id as a part of a path, which it cannot leave."""
    if value in ("", ".", ".."):
        raise MayflyError(f"Invalid id: {value!r}", code="invalid_parameter")
    return urllib.parse.quote(str(value), safe="")


def _encode(value: str | int | Sequence[str]) -> str | int:
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, (str, int)) else ",".join(value)


def _to_error(response: urllib.error.HTTPError) -> MayflyError:
    """A proxy in front of the server may answer with something that is not JSON."""
    body: dict[str, Any] = {}
    try:
        found = json.load(response)
        body = found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        pass
    return MayflyError(
        body.get("message", f"HTTP status {response.code}"),
        status=response.code,
        code=body.get("code", "unknown"),
        request_id=body.get("request_id"),
    )


def _retry_delay(headers: email.message.Message) -> float:
    """Retry-After is seconds or a date."""
    given = headers.get("Retry-After", "1")
    try:
        delay = float(given) if given.isdigit() else email.utils.parsedate_to_datetime(given).timestamp() - time.time()
    except (TypeError, ValueError):
        delay = 1
    return max(0.1, delay)

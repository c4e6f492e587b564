"""Requests with a deadline, retries and errors."""

import email.utils
import http.client
import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request


class MayflyError(Exception):
    """The server refused a request, or could not be reached: then `status` is 0."""

    def __init__(self, message, *, code, status=0, request_id=None):
        super().__init__(message)
        #: HTTP status.
        self.status = status
        #: The stable code of the API, such as "session_expired".
        self.code = code
        #: To find the request in the server's log.
        self.request_id = request_id


class MayflyTimeoutError(MayflyError, TimeoutError):
    """What was waited for did not happen in time."""

    def __init__(self, message):
        super().__init__(message, code="timeout")


class Deadline:
    """The time that all requests of one call share."""

    def __init__(self, timeout):
        self.timeout = timeout
        self._end = time.monotonic() + timeout

    def remaining(self):
        return self._end - time.monotonic()

    def wait_seconds(self, most):
        """For one long poll."""
        return min(most, max(1, math.ceil(self.remaining())))

    def error(self):
        return MayflyTimeoutError(f"No response within {self.timeout} s")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The service does not redirect, and another server must not see a token or key."""

    def redirect_request(self, *args, **kwargs):
        return None


_opener = urllib.request.build_opener(_NoRedirects)
_RETRIED = (429, 503)


class Connection:
    def __init__(self, url, api_key):
        self.url = url.rstrip("/") + "/"
        self.api_key = api_key

    def open(self, path, deadline, *, params=None, method="GET", token=None, headers=None, socket_timeout=None):
        """Sends a request until it is answered: 429 and 503 are retried when the server says so, if there is time."""
        while True:
            request = self._request(path, params or {}, method, token, headers or {})
            if deadline.remaining() <= 0:
                raise deadline.error()
            try:
                return _opener.open(request, timeout=socket_timeout or deadline.remaining())
            except urllib.error.HTTPError as refusal:
                with refusal:
                    error, delay = _to_error(refusal), _retry_delay(refusal.headers)
                if error.status not in _RETRIED or delay >= deadline.remaining():
                    raise error from None
                time.sleep(delay)
            except (OSError, http.client.HTTPException) as error:
                raise self.to_error(error, deadline) from error

    def fetch(self, path, deadline, **options):
        """The body and the headers of a response."""
        try:
            with self.open(path, deadline, **options) as response:
                return response.read(), response.headers
        except MayflyError:
            raise
        except (OSError, http.client.HTTPException) as error:
            raise self.to_error(error, deadline) from error

    def json(self, path, deadline, **options):
        body, _ = self.fetch(path, deadline, **options)
        return json.loads(body)

    def to_error(self, error, deadline):
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError) or deadline.remaining() <= 0:
            return deadline.error()
        return MayflyError(f"{self.url} cannot be reached: {reason}", code="network")

    def _request(self, path, params, method, token, headers):
        url = urllib.parse.urljoin(self.url, path)
        encoded = urllib.parse.urlencode(
            {name.rstrip("_"): _encode(value) for name, value in params.items() if value is not None}
        )
        if method == "GET" and encoded:
            url = f"{url}?{encoded}"
        body = encoded.encode() if method == "POST" else None
        request = urllib.request.Request(url, data=body, method=method, headers=headers)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        return request


def _encode(value):
    if isinstance(value, bool):
        return int(value)
    return ",".join(value) if isinstance(value, (list, tuple)) else value


def _to_error(response):
    """A proxy in front of the server may answer with something that is not JSON."""
    try:
        body = json.load(response)
    except (OSError, ValueError):
        body = {}
    return MayflyError(
        body.get("message", f"HTTP status {response.status}"),
        status=response.status,
        code=body.get("code", "unknown"),
        request_id=body.get("request_id"),
    )


def _retry_delay(headers):
    """Retry-After is seconds or a date."""
    given = headers.get("Retry-After", "1")
    try:
        delay = float(given) if given.isdigit() else email.utils.parsedate_to_datetime(given).timestamp() - time.time()
    except (TypeError, ValueError):
        delay = 1
    return max(0.1, delay)

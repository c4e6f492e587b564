"""Client for Mayfly, a service for disposable mailboxes. Parameters and fields have the names of its HTTP API, but `from_` for `from`."""

import base64
import binascii
import hashlib
import hmac
import http.client
import json
import re
import threading
import time
import urllib.parse
from datetime import datetime
from typing import NamedTuple, Optional

from ._request import Connection, Deadline, MayflyError, MayflyTimeoutError

__all__ = ["CodeAndLink", "EmailPage", "Mailbox", "Mayfly", "MayflyError", "MayflyTimeoutError", "verify_webhook"]

# Of one long poll; the server allows 55 s.
_MAX_WAIT = 50
# After that, also older messages that were parsed meanwhile are found.
_MAX_CODE_WAIT = 5
_LIST_LIMIT = 500
_FINAL_CHECK = 10
# The server sends a heartbeat every 15 s.
_SILENCE = 45
_LINK_KINDS = ("verify", "sign_in", "reset")
_PASSING = (0, 429, 502, 503, 504)


class EmailPage(NamedTuple):
    emails: list
    #: For the next page, which is another request of the plan; None at the end.
    cursor: Optional[str]


class CodeAndLink(NamedTuple):
    code: str
    link: str


class Mayfly:
    """A Mayfly service. All timeouts are in seconds, for the whole call including retries."""

    def __init__(self, url, api_key=None):
        self._connection = Connection(url, api_key)

    def create_mailbox(self, *, timeout=30, **params):
        """Creates a mailbox: prefix, domain_id, ttl, only_from, max_messages, use_gmail, …"""
        session = self._connection.json(
            "api/create-session", Deadline(timeout), params=params, method="POST", headers=self._key_headers()
        )
        return Mailbox(self._connection, session)

    def open_mailbox(self, token, *, timeout=30):
        """A mailbox that was created before."""
        found = self._connection.json("api/check-mail", Deadline(timeout), params={"limit": 1}, token=token)
        return Mailbox(self._connection, {**found, "token": token})

    def emails(self, *, timeout=None, **params):
        """One page of the mail that the key can read, newest first: to, from_, subject, since_id, limit, cursor, wait."""
        if not self._connection.api_key:
            raise MayflyError("emails() needs an api_key", code="invalid_key")
        deadline = Deadline(30 + (params.get("wait") or 0) if timeout is None else timeout)
        body, headers = self._connection.fetch("emails", deadline, params=params, headers=self._key_headers())
        emails = [{**email, "address": group["address"]} for group in json.loads(body) for email in group["emails"]]
        found = re.search(r'<([^>]*)>; *rel="?next', headers.get("Link", ""))
        query = urllib.parse.urlsplit(found[1]).query if found else ""
        return EmailPage(emails, urllib.parse.parse_qs(query).get("cursor", [None])[0])

    def _key_headers(self):
        key = self._connection.api_key
        return {"APIKey": key} if key else {}


class Mailbox:
    """Use `create_mailbox` or `open_mailbox`."""

    def __init__(self, connection, session):
        self._connection = connection
        self.email = session["email"]
        #: Anyone who has it can read the mailbox.
        self.token = session["token"]
        self.expires_at = _time(session)
        # Messages that a waiting method has returned.
        self._returned = set()
        self._lock = threading.Lock()

    def wait_for_message(self, *, from_=None, subject=None, timeout=30):
        """The next message that matches, whether it is there already or still to come.

        Each message is returned once by all waiting methods together, also if they run in parallel, the oldest first.
        """
        return self._next("message", timeout, {"from_": from_, "subject": subject}, self._read)

    def wait_for_code(self, *, from_=None, subject=None, timeout=30):
        """The code of the next message that has one."""
        wanted = {"from_": from_, "subject": subject, "has_code": True}
        return self._next("message with a code", timeout, wanted, lambda summary, _: summary["code"])

    def wait_for_link(self, *, from_=None, subject=None, kind=None, timeout=30):
        """The link of the next message that has one: to verify, to sign in or to reset a password, unless `kind` names another."""

        def pick(summary, deadline):
            return _link(self._read(summary, deadline), kind)

        return self._next("message with a link", timeout, {"from_": from_, "subject": subject}, pick)

    def wait_for_code_and_link(self, *, from_=None, subject=None, kind=None, timeout=30):
        """Both of the next message that has a code and a link; `kind` as in `wait_for_link`."""

        def pick(summary, deadline):
            link = _link(self._read(summary, deadline), kind)
            return CodeAndLink(summary["code"], link) if link else None

        wanted = {"from_": from_, "subject": subject, "has_code": True}
        return self._next("message with a code and a link", timeout, wanted, pick)

    def expect_no_message(self, *, from_=None, subject=None, timeout=5):
        """Waits for the whole timeout; raises "unexpected_message" if a message that matches is there or arrives."""
        wanted = {"from_": from_, "subject": subject}
        try:
            found = self._next("message", timeout, wanted, lambda summary, _: summary)
        except MayflyTimeoutError:
            # A server that no longer responds proves nothing.
            last = self.messages(timeout=_FINAL_CHECK, **wanted)
            found = next((summary for summary in last if summary["id"] not in self._returned), None)
        if found:
            raise MayflyError(f"Unexpected message at {self.email}: {_describe(found)}", code="unexpected_message")

    def messages(self, *, timeout=30, **params):
        """The messages, newest first: from_, subject, has_code, q, since_id, limit."""
        return self._list(Deadline(timeout), params)

    def read(self, message, *, timeout=30):
        """A message in full, by its id or its summary."""
        return self._read(message, Deadline(timeout))

    def attachment(self, message, index, *, timeout=30):
        """The content of an attachment, by its `index` in the message."""
        deadline, params = Deadline(timeout), {"id": _id(message), "index": index}
        return self._connection.fetch("api/attachment", deadline, params=params, token=self.token)[0]

    def events(self, *, since_id=None, **params):
        """What happens in the mailbox from now on, or after `since_id`, until it ends: dictionaries with a `type`.

        "message" and "updated" have the `message`, "deleted" an `id`, "end" a `reason`. A connection that is lost is resumed
        without a gap.
        """
        position, reported = {"since_id": since_id, "retry": 1_000}, set()
        while True:
            try:
                for event in self._stream(position, params):
                    repeated = event["type"] == "message" and event["message"]["id"] in reported
                    if event["type"] == "message":
                        reported.add(event["message"]["id"])
                    if not repeated:
                        yield event
                    if event["type"] == "end":
                        return
            except (MayflyError, http.client.HTTPException, OSError) as error:
                # Not MayflyTimeoutError alone: a lost connection is an OSError, too.
                if "open" not in position or getattr(error, "status", 0) not in _PASSING:
                    raise
            time.sleep(position["retry"] / 1_000)

    def extend(self, *, ttl=None, timeout=30):
        """Sets the expiry to `ttl` seconds from now; without it, to the default life."""
        session = self._connection.json(
            "api/extend-session", Deadline(timeout), params={"ttl": ttl}, method="POST", token=self.token
        )
        self.expires_at = _time(session)

    def end(self, *, timeout=30):
        """Ends the mailbox at once and deletes its mail."""
        self._connection.json("api/delete-session", Deadline(timeout), method="POST", token=self.token)

    def _list(self, deadline, params):
        return self._connection.json("api/check-mail", deadline, params=params, token=self.token)["messages"]

    def _read(self, message, deadline):
        params = {"id": _id(message)}
        return self._connection.json("api/read-mail", deadline, params=params, token=self.token)["message"]

    def _next(self, what, timeout, wanted, pick):
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
                    picked = pick(summary, deadline)
                    if picked is not None and self._claim(summary["id"]):
                        return picked
                if seen:
                    # All are listed again afterwards, because the oldest may be the last to be parsed.
                    wait = deadline.wait_seconds(_MAX_CODE_WAIT if "has_code" in wanted else _MAX_WAIT)
                    self._list(deadline, {**wanted, "wait": wait, "since_id": found[0]["id"] if found else 0})
        except MayflyTimeoutError:
            conditions = (f" from {wanted['from_']}" if wanted["from_"] else "") + (
                f" with “{wanted['subject']}” in the subject" if wanted["subject"] else ""
            )
            raise MayflyTimeoutError(
                f"No {what}{conditions} at {self.email} within {timeout} s; {self._contents()}"
            ) from None

    def _claim(self, message_id):
        """False if another wait, in another thread, has returned the message meanwhile."""
        with self._lock:
            if message_id in self._returned:
                return False
            self._returned.add(message_id)
            return True

    def _contents(self):
        """For the message of an error."""
        try:
            found = self.messages(limit=10, timeout=_FINAL_CHECK)
        except MayflyError as error:
            return f"the mailbox cannot be read: {error}"
        lines = [_describe(one) + (" (already returned)" if one["id"] in self._returned else "") for one in found]
        return f"the mailbox has {', '.join(lines)}" if found else "the mailbox is empty"

    def _stream(self, position, params):
        """One connection, until it ends or is silent for too long. Updates the position to resume at."""
        wanted = {**params, "since_id": position["since_id"]}
        response = self._connection.open(
            "api/events", Deadline(30), params=wanted, token=self.token, socket_timeout=_SILENCE
        )
        with response:
            fields = {}
            for line in response:
                name, _, value = line.decode().rstrip("\r\n").partition(":")
                if name or value:
                    fields[name] = value.removeprefix(" ")
                    continue
                if "id" in fields:
                    position.update(since_id=fields["id"], open=True)
                position["retry"] = int(fields.get("retry", position["retry"]))
                if "data" in fields:
                    yield _event(fields.get("event", "message"), json.loads(fields["data"]))
                fields = {}


def _event(kind, data):
    return {"type": kind, "message": data} if kind in ("message", "updated") else {"type": kind, **data}


def _link(message, kind):
    kinds = (kind,) if kind else _LINK_KINDS
    return next((link["url"] for link in message["links"] if link["kind"] in kinds), None)


def _id(message):
    return message if isinstance(message, int) else message["id"]


def _describe(summary):
    return f"“{summary['subject']}” from {summary['sender_email']}"


def _time(session):
    return datetime.fromisoformat(session["expires_at_iso"].replace("Z", "+00:00"))


_MAX_AGE = 300


def verify_webhook(body, headers, secret):
    """Returns the event if the signature is valid and recent (Standard Webhooks); otherwise raises "invalid_signature".

    `body` is as received, before any JSON parser; `secret` is "whsec_…".
    """
    given = {name.lower(): value for name, value in headers.items()}
    body = body.encode() if isinstance(body, str) else bytes(body)
    timestamp = given.get("webhook-timestamp", "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > _MAX_AGE:
        raise _invalid("webhook-timestamp is missing or too far from now")
    key = _from_base64(secret.removeprefix("whsec_"))
    if not key:
        raise _invalid("the secret is not base64")
    signed = f"{given.get('webhook-id', '')}.{timestamp}.".encode() + body
    expected = hmac.new(key, signed, hashlib.sha256).digest()
    # While a secret is rolled there are two.
    for signature in given.get("webhook-signature", "").split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(expected, _from_base64(value)):
            return json.loads(body)
    raise _invalid("no signature matches the secret")


def _from_base64(text):
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _invalid(reason):
    return MayflyError(f"Invalid webhook: {reason}", code="invalid_signature")

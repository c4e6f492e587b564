from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping
from typing import Any, Literal, Optional, TypedDict, Union

from ._request import MayflyError
from ._types import Link

_MAX_AGE = 300

_MessageReceivedRequired = TypedDict(
    "_MessageReceivedRequired",
    {
        "id": int,
        "address": str,
        "from": str,
        "to": str,
        "subject": str,
        "date": str,
        "date_iso": str,
        "code": Optional[str],
        "links": list[Link],
        "size": int,
        "attachments": int,
    },
)


class MessageReceivedData(_MessageReceivedRequired, total=False):
    #: Some links were left out, because the event would be too long.
    links_truncated: Literal[True]


class MessageReceived(TypedDict):
    type: Literal["message.received"]
    timestamp: str
    data: MessageReceivedData


class WebhookTestData(TypedDict):
    webhook_id: str


class WebhookTest(TypedDict):
    type: Literal["webhook.test"]
    timestamp: str
    data: WebhookTestData


WebhookEvent = Union[MessageReceived, WebhookTest]


def verify_webhook(body: str | bytes | bytearray, headers: Mapping[str, str], secret: str) -> WebhookEvent:
    """Returns the event if the signature is valid and recent (Standard Webhooks); otherwise raises "invalid_signature".

    `body` is as received, before any JSON parser; `secret` is "whsec_…".
    """
    given = {name.lower(): value for name, value in headers.items()}
    content = body.encode() if isinstance(body, str) else bytes(body)
    timestamp = given.get("webhook-timestamp", "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > _MAX_AGE:
        raise _invalid("webhook-timestamp is missing or too far from now")
    key = _from_base64(secret.removeprefix("whsec_"))
    if not key:
        raise _invalid("the secret is not base64")
    signed = f"{given.get('webhook-id', '')}.{timestamp}.".encode() + content
    expected = hmac.new(key, signed, hashlib.sha256).digest()
    # While a secret is rolled there are two.
    for signature in given.get("webhook-signature", "").split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(expected, _from_base64(value)):
            event: Any = json.loads(content)
            return event  # type: ignore[no-any-return]
    raise _invalid("no signature matches the secret")


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _invalid(reason: str) -> MayflyError:
    return MayflyError(f"Invalid webhook: {reason}", code="invalid_signature")

"""Generated from the schemas of the routes by build/python-types.ts."""

from typing import Literal, Optional, TypedDict, Union


class AddressRules(TypedDict):
    only_from: list[str]
    max_messages: Optional[int]
    refused: int


class MessageSummary(TypedDict):
    id: int
    sender_name: str
    sender_email: str
    subject: str
    received_at: str
    received_at_iso: str
    code: Optional[str]
    preview: Optional[str]
    attachments: Optional[int]


class _MessageListRequired(TypedDict):
    status: Literal["success"]
    email: str
    expires_at: str
    expires_at_iso: str
    messages: list[MessageSummary]


class MessageList(_MessageListRequired, total=False):
    rules: AddressRules
    label: str
    full: Literal[True]
    timed_out: Literal[True]
    incomplete: Literal[True]


class Code(TypedDict):
    value: str
    kind: Literal["digits", "letters_and_digits", "words"]
    confidence: float


class Link(TypedDict):
    url: str
    text: str
    host: str
    kind: Literal["verify", "sign_in", "reset", "unsubscribe", "other"]


class SenderChecks(TypedDict):
    spf: Literal["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"]
    dkim: Literal["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"]
    dmarc: Literal["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"]


class NamedAddress(TypedDict):
    name: str
    address: str


class Attachment(TypedDict):
    index: int
    filename: str
    content_type: str
    size: int
    content_id: Optional[str]
    inline: bool
    url: str


class Header(TypedDict):
    name: str
    value: str


class _MessageRequired(TypedDict):
    id: int
    sender_name: str
    sender_email: str
    subject: str
    received_at: str
    received_at_iso: str
    code: Optional[str]
    body_html: Optional[str]
    size: int
    codes: list[Code]
    links: list[Link]
    auth: Optional[SenderChecks]
    body_text: Optional[str]
    to: list[NamedAddress]
    cc: list[NamedAddress]
    reply_to: list[NamedAddress]
    message_id: Optional[str]
    date: Optional[str]
    attachments: list[Attachment]
    raw_url: str


class Message(_MessageRequired, total=False):
    truncated: Literal[True]
    headers: list[Header]


_EmailRequired = TypedDict(
    "_EmailRequired",
    {
        "id": int,
        "from": str,
        "to": str,
        "subject": str,
        "date": str,
        "date_iso": str,
        "body": str,
        "code": Optional[str],
        "links": list[Link],
        "attachments": int,
        "has_html": bool,
    },
)


class Email(_EmailRequired, total=False):
    truncated: Literal[True]


class _EmailGroupRequired(TypedDict):
    emails: list[Email]


class EmailGroup(_EmailGroupRequired, total=False):
    address: str

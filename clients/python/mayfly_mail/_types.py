"""Generated from the schemas of the routes by build/python-types.ts."""

from typing import Literal, Optional, TypedDict, Union


class _DomainRequired(TypedDict):
    id: int
    domain: str


class Domain(_DomainRequired, total=False):
    wildcard: Literal[True]


class GmailAccount(TypedDict):
    id: int
    email: str


class Domains(TypedDict):
    status: Literal["success"]
    domains: list[Domain]
    gmail_accounts: list[GmailAccount]


class _SessionRequired(TypedDict):
    status: Literal["success"]
    email: str
    token: str
    expires_at: str
    expires_at_iso: str


class Session(_SessionRequired, total=False):
    permanent: Literal[True]


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
    permanent: Literal[True]
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


class _SessionSettingsRequired(TypedDict):
    status: Literal["success"]
    email: str
    expires_at: str
    expires_at_iso: str


class SessionSettings(_SessionSettingsRequired, total=False):
    permanent: Literal[True]
    rules: AddressRules
    label: str


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


class EmailAttachment(TypedDict):
    index: int
    filename: str
    content_type: str
    size: int


_WholeEmailRequired = TypedDict(
    "_WholeEmailRequired",
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
        "attachments": list[EmailAttachment],
        "has_html": bool,
        "body_html": Optional[str],
        "size": int,
        "codes": list[Code],
        "auth": Optional[SenderChecks],
        "address": str,
    },
)


class WholeEmail(_WholeEmailRequired, total=False):
    truncated: Literal[True]


class _KeySessionRequired(TypedDict):
    email: str
    expires_at: str
    expires_at_iso: str
    created_at: str
    created_at_iso: str
    messages: int
    label: Optional[str]


class KeySession(_KeySessionRequired, total=False):
    permanent: Literal[True]
    rules: AddressRules


class KeySessions(TypedDict):
    status: Literal["success"]
    sessions: list[KeySession]
    next_cursor: Optional[str]


class Confirmation(TypedDict):
    status: Literal["success"]
    message: str


class UsageDays(TypedDict):
    date: str
    requests: int


class UsageDomains(TypedDict):
    limit: int
    used: int


class DomainWarning(TypedDict):
    code: Literal["record_missing", "key_stopped", "key_expired", "key_expires"]
    domain: Optional[str]
    at: str
    at_iso: str


class Usage(TypedDict):
    status: Literal["success"]
    plan: str
    label: str
    prefix: str
    state: str
    requests: int
    used: int
    remaining: int
    per_day: Optional[int]
    used_today: int
    remaining_today: Optional[int]
    resets_at: str
    resets_at_iso: str
    expires_at: Optional[str]
    expires_at_iso: Optional[str]
    days: list[UsageDays]
    domains: UsageDomains
    warnings: list[DomainWarning]


NewWebhook = TypedDict(
    "NewWebhook",
    {
        "id": str,
        "url": str,
        "state": Literal["active", "failing", "paused", "disabled"],
        "reason": Optional[str],
        "to": Optional[str],
        "from": Optional[str],
        "subject": Optional[str],
        "created_at": str,
        "created_at_iso": str,
        "last_delivery_at": Optional[str],
        "last_delivery_at_iso": Optional[str],
        "last_message_id": Optional[int],
        "next_attempt_at": Optional[str],
        "next_attempt_at_iso": Optional[str],
        "gap_since": Optional[str],
        "gap_since_iso": Optional[str],
        "backlog": Optional[int],
        "old_secret_until": Optional[str],
        "old_secret_until_iso": Optional[str],
        "secret": str,
    },
)


Webhook = TypedDict(
    "Webhook",
    {
        "id": str,
        "url": str,
        "state": Literal["active", "failing", "paused", "disabled"],
        "reason": Optional[str],
        "to": Optional[str],
        "from": Optional[str],
        "subject": Optional[str],
        "created_at": str,
        "created_at_iso": str,
        "last_delivery_at": Optional[str],
        "last_delivery_at_iso": Optional[str],
        "last_message_id": Optional[int],
        "next_attempt_at": Optional[str],
        "next_attempt_at_iso": Optional[str],
        "gap_since": Optional[str],
        "gap_since_iso": Optional[str],
        "backlog": Optional[int],
        "old_secret_until": Optional[str],
        "old_secret_until_iso": Optional[str],
    },
)


class Delivery(TypedDict):
    message_id: int
    attempt: int
    status: Optional[int]
    error: Optional[str]
    ms: int
    attempted_at: str
    attempted_at_iso: str


class DeliveryOutcome(TypedDict):
    status: Optional[int]
    error: Optional[str]
    ms: int


class NewOwnDomainRecords(TypedDict):
    type: Literal["TXT", "MX"]
    name: str
    value: str


class NewOwnDomain(TypedDict):
    status: Literal["success"]
    id: str
    domain: str
    unicode: str
    state: Literal["pending", "active", "suspended"]
    reason: Optional[Literal["record_missing", "taken_over", "suspended_by_operator", "key_stopped", "key_expired", "not_checked", "restored"]]
    catch_all: bool
    created_at: str
    created_at_iso: str
    verified_at: Optional[str]
    verified_at_iso: Optional[str]
    checked_at: Optional[str]
    checked_at_iso: Optional[str]
    missing_since: Optional[str]
    missing_since_iso: Optional[str]
    suspends_at: Optional[str]
    suspends_at_iso: Optional[str]
    taken: int
    refused: int
    records: list[NewOwnDomainRecords]


class OwnDomainRecords(TypedDict):
    type: Literal["TXT", "MX"]
    name: str
    value: str


class OwnDomain(TypedDict):
    id: str
    domain: str
    unicode: str
    state: Literal["pending", "active", "suspended"]
    reason: Optional[Literal["record_missing", "taken_over", "suspended_by_operator", "key_stopped", "key_expired", "not_checked", "restored"]]
    catch_all: bool
    created_at: str
    created_at_iso: str
    verified_at: Optional[str]
    verified_at_iso: Optional[str]
    checked_at: Optional[str]
    checked_at_iso: Optional[str]
    missing_since: Optional[str]
    missing_since_iso: Optional[str]
    suspends_at: Optional[str]
    suspends_at_iso: Optional[str]
    taken: int
    refused: int
    records: list[OwnDomainRecords]


class OwnDomains(TypedDict):
    status: Literal["success"]
    domains: list[OwnDomain]
    limit: int
    warnings: list[DomainWarning]

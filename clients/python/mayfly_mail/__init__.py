"""Client for Mayfly, a service for disposable mailboxes. Parameters and fields have the names of its HTTP API, but `from_` for `from`."""

from ._async import AsyncMailbox, AsyncMayfly
from ._client import Email, EmailPage, Mayfly
from ._mailbox import CodeAndLink, DeletedEvent, EndEvent, Mailbox, MailEvent, MessageEvent
from ._request import MayflyError, MayflyTimeoutError
from ._types import Attachment, Code, Link, Message, MessageSummary, NamedAddress
from ._webhook import MessageReceived, MessageReceivedData, WebhookEvent, WebhookTest, WebhookTestData, verify_webhook

__all__ = [
    "AsyncMailbox",
    "AsyncMayfly",
    "Attachment",
    "Code",
    "CodeAndLink",
    "DeletedEvent",
    "Email",
    "EmailPage",
    "EndEvent",
    "Link",
    "MailEvent",
    "Mailbox",
    "Mayfly",
    "MayflyError",
    "MayflyTimeoutError",
    "Message",
    "MessageEvent",
    "MessageReceived",
    "MessageReceivedData",
    "MessageSummary",
    "NamedAddress",
    "WebhookEvent",
    "WebhookTest",
    "WebhookTestData",
    "verify_webhook",
]

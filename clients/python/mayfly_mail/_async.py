"""The client for asyncio. Each call runs in a thread of the event loop's default executor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import TypeVar

from ._client import EmailPage, Mayfly
from ._mailbox import CodeAndLink, LinkKind, Mailbox, MailEvent, Position
from ._request import MayflyError, abandoned
from ._types import Message, MessageSummary

_T = TypeVar("_T")


async def _in_thread(call: Callable[[], _T]) -> _T:
    """If the caller is cancelled, the thread ends soon, and returns no message that nobody would get."""
    is_abandoned = threading.Event()
    # The thread has a copy of the context.
    token = abandoned.set(is_abandoned)
    try:
        return await asyncio.to_thread(call)
    finally:
        is_abandoned.set()
        abandoned.reset(token)


class AsyncMayfly:
    """A Mayfly service, for asyncio. Methods are those of `Mayfly`."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self._mayfly = Mayfly(url, api_key)

    async def create_mailbox(
        self,
        *,
        prefix: str | None = None,
        domain: str | None = None,
        domain_id: int | None = None,
        ttl: int | None = None,
        only_from: Sequence[str] | None = None,
        max_messages: int | None = None,
        label: str | None = None,
        use_gmail: bool | None = None,
        gmail_auto: bool | None = None,
        gmail_id: int | None = None,
        timeout: float = 30,
    ) -> AsyncMailbox:
        create = self._mayfly.create_mailbox
        mailbox = await _in_thread(
            lambda: create(
                prefix=prefix,
                domain=domain,
                domain_id=domain_id,
                ttl=ttl,
                only_from=only_from,
                max_messages=max_messages,
                label=label,
                use_gmail=use_gmail,
                gmail_auto=gmail_auto,
                gmail_id=gmail_id,
                timeout=timeout,
            )
        )
        return AsyncMailbox(mailbox)

    async def open_mailbox(self, token: str, *, timeout: float = 30) -> AsyncMailbox:
        return AsyncMailbox(await _in_thread(lambda: self._mayfly.open_mailbox(token, timeout=timeout)))

    async def emails(
        self,
        *,
        to: str | None = None,
        from_: str | None = None,
        subject: str | None = None,
        since_id: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        wait: int | None = None,
        timeout: float | None = None,
    ) -> EmailPage:
        emails = self._mayfly.emails
        return await _in_thread(
            lambda: emails(
                to=to,
                from_=from_,
                subject=subject,
                since_id=since_id,
                limit=limit,
                cursor=cursor,
                wait=wait,
                timeout=timeout,
            )
        )


class AsyncMailbox:
    """Use `create_mailbox` or `open_mailbox` of `AsyncMayfly`. Methods are those of `Mailbox`; with `async with`, it ends with the block."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    @property
    def email(self) -> str:
        return self._mailbox.email

    @property
    def token(self) -> str:
        return self._mailbox.token

    @property
    def expires_at(self) -> datetime:
        return self._mailbox.expires_at

    async def __aenter__(self) -> AsyncMailbox:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.end()
        except MayflyError as failure:
            # It may have ended before.
            if failure.status != 401:
                raise

    async def wait_for_message(
        self, *, from_: str | None = None, subject: str | None = None, timeout: float = 30
    ) -> Message:
        wait = self._mailbox.wait_for_message
        return await _in_thread(lambda: wait(from_=from_, subject=subject, timeout=timeout))

    async def wait_for_code(
        self, *, from_: str | None = None, subject: str | None = None, timeout: float = 30
    ) -> str:
        wait = self._mailbox.wait_for_code
        return await _in_thread(lambda: wait(from_=from_, subject=subject, timeout=timeout))

    async def wait_for_link(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        kind: LinkKind | None = None,
        timeout: float = 30,
    ) -> str:
        wait = self._mailbox.wait_for_link
        return await _in_thread(lambda: wait(from_=from_, subject=subject, kind=kind, timeout=timeout))

    async def wait_for_code_and_link(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        kind: LinkKind | None = None,
        timeout: float = 30,
    ) -> CodeAndLink:
        wait = self._mailbox.wait_for_code_and_link
        return await _in_thread(lambda: wait(from_=from_, subject=subject, kind=kind, timeout=timeout))

    async def expect_no_message(
        self, *, from_: str | None = None, subject: str | None = None, timeout: float = 5
    ) -> None:
        expect = self._mailbox.expect_no_message
        await _in_thread(lambda: expect(from_=from_, subject=subject, timeout=timeout))

    async def messages(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        has_code: bool | None = None,
        q: str | None = None,
        since_id: int | None = None,
        limit: int | None = None,
        timeout: float = 30,
    ) -> list[MessageSummary]:
        messages = self._mailbox.messages
        return await _in_thread(
            lambda: messages(
                from_=from_,
                subject=subject,
                has_code=has_code,
                q=q,
                since_id=since_id,
                limit=limit,
                timeout=timeout,
            )
        )

    async def read(self, message: int | MessageSummary | Message, *, timeout: float = 30) -> Message:
        return await _in_thread(lambda: self._mailbox.read(message, timeout=timeout))

    async def attachment(
        self, message: int | MessageSummary | Message, index: int, *, timeout: float = 30
    ) -> bytes:
        return await _in_thread(lambda: self._mailbox.attachment(message, index, timeout=timeout))

    async def events(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        has_code: bool | None = None,
        since_id: int | None = None,
    ) -> AsyncGenerator[MailEvent, None]:
        position = Position(since_id)
        params = {"from_": from_, "subject": subject, "has_code": has_code}
        events = self._mailbox._events(params, position)
        try:
            while True:
                event = await _in_thread(lambda: next(events, None))
                if event is None:
                    return
                yield event
        finally:
            position.close()

    async def extend(self, *, ttl: int | None = None, timeout: float = 30) -> None:
        await _in_thread(lambda: self._mailbox.extend(ttl=ttl, timeout=timeout))

    async def end(self, *, timeout: float = 30) -> None:
        await _in_thread(lambda: self._mailbox.end(timeout=timeout))

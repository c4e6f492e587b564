"""The client for asyncio. Each call runs in a thread of its own."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ._client import Mayfly
from ._events import MailboxEvent, MailEvent, Position, event_params
from ._mailbox import Mailbox
from ._own_domains import OwnDomains
from ._request import MayflyError, abandoned
from ._sessions import Sessions
from ._webhooks import Webhooks

if TYPE_CHECKING:
    # Newer than Python 3.9; type checkers know it without the package.
    from typing_extensions import Concatenate, ParamSpec

    _P = ParamSpec("_P")

_T = TypeVar("_T")
_R = TypeVar("_R")
_Sync = TypeVar("_Sync")


async def _in_thread(call: Callable[[], _T]) -> _T:
    """If the caller is cancelled, the thread ends soon, and returns no message that nobody would get.

    The thread starts at once, and with it the timeout. In a pool of limited size, calls would queue behind open streams.
    """
    is_abandoned, context = threading.Event(), contextvars.copy_context()
    context.run(abandoned.set, is_abandoned)
    thread = ThreadPoolExecutor(1, thread_name_prefix="mayfly")
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, lambda: context.run(call))
    finally:
        is_abandoned.set()
        thread.shutdown(wait=False)


class _Async(Generic[_Sync]):
    def __init__(self, sync: _Sync) -> None:
        self._sync = sync


def _coroutine(
    method: Callable[Concatenate[_Sync, _P], _T],
) -> Callable[Concatenate[_Async[_Sync], _P], Coroutine[Any, Any, _T]]:
    """The method with the same parameters. Type checkers infer it only for names that are Final."""

    @functools.wraps(method)
    async def run(self: _Async[_Sync], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await _in_thread(lambda: method(self._sync, *args, **kwargs))

    return run


def _converted(
    method: Callable[Concatenate[_Sync, _P], _T], convert: Callable[[_T], _R]
) -> Callable[Concatenate[_Async[_Sync], _P], Coroutine[Any, Any, _R]]:
    @functools.wraps(method)
    async def run(self: _Async[_Sync], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return convert(await _in_thread(lambda: method(self._sync, *args, **kwargs)))

    return run


async def _each(events: Generator[_T, None, None], position: Position) -> AsyncGenerator[_T, None]:
    try:
        while True:
            event = await _in_thread(lambda: next(events, None))
            if event is None:
                return
            yield event
    finally:
        position.close()


class AsyncMailbox(_Async[Mailbox]):
    """Use `create_mailbox` or `open_mailbox` of `AsyncMayfly`. Methods are those of `Mailbox`; with `async with`, it ends with the block."""

    wait_for_message: Final = _coroutine(Mailbox.wait_for_message)
    wait_for_code: Final = _coroutine(Mailbox.wait_for_code)
    wait_for_link: Final = _coroutine(Mailbox.wait_for_link)
    wait_for_code_and_link: Final = _coroutine(Mailbox.wait_for_code_and_link)
    expect_no_message: Final = _coroutine(Mailbox.expect_no_message)
    messages: Final = _coroutine(Mailbox.messages)
    read: Final = _coroutine(Mailbox.read)
    headers: Final = _coroutine(Mailbox.headers)
    raw: Final = _coroutine(Mailbox.raw)
    attachment: Final = _coroutine(Mailbox.attachment)
    delete: Final = _coroutine(Mailbox.delete)
    settings: Final = _coroutine(Mailbox.settings)
    update: Final = _coroutine(Mailbox.update)
    extend: Final = _coroutine(Mailbox.extend)
    end: Final = _coroutine(Mailbox.end)

    @property
    def email(self) -> str:
        return self._sync.email

    @property
    def token(self) -> str:
        return self._sync.token

    @property
    def expires_at(self) -> datetime:
        return self._sync.expires_at

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

    def events(
        self,
        *,
        from_: str | None = None,
        subject: str | None = None,
        has_code: bool | None = None,
        has_link: bool | None = None,
        since_id: int | None = None,
    ) -> AsyncGenerator[MailEvent, None]:
        position = Position()
        params = event_params(from_, subject, has_code, has_link, since_id)
        return _each(self._sync._events(params, position), position)


class AsyncSessions(_Async[Sessions]):
    """Use `sessions` of an `AsyncMayfly`. Methods are those of `Sessions`."""

    list: Final = _coroutine(Sessions.list)
    end: Final = _coroutine(Sessions.end)
    roll_token: Final = _converted(Sessions.roll_token, AsyncMailbox)


class AsyncOwnDomains(_Async[OwnDomains]):
    """Use `own_domains` of an `AsyncMayfly`. Methods are those of `OwnDomains`."""

    add: Final = _coroutine(OwnDomains.add)
    list: Final = _coroutine(OwnDomains.list)
    read: Final = _coroutine(OwnDomains.read)
    verify: Final = _coroutine(OwnDomains.verify)
    update: Final = _coroutine(OwnDomains.update)
    delete: Final = _coroutine(OwnDomains.delete)


class AsyncWebhooks(_Async[Webhooks]):
    """Use `webhooks` of an `AsyncMayfly`. Methods are those of `Webhooks`."""

    create: Final = _coroutine(Webhooks.create)
    list: Final = _coroutine(Webhooks.list)
    read: Final = _coroutine(Webhooks.read)
    update: Final = _coroutine(Webhooks.update)
    deliveries: Final = _coroutine(Webhooks.deliveries)
    test: Final = _coroutine(Webhooks.test)
    replay: Final = _coroutine(Webhooks.replay)
    roll_secret: Final = _coroutine(Webhooks.roll_secret)
    enable: Final = _coroutine(Webhooks.enable)
    delete: Final = _coroutine(Webhooks.delete)


class AsyncMayfly(_Async[Mayfly]):
    """A Mayfly service, for asyncio. Methods are those of `Mayfly`."""

    create_mailbox: Final = _converted(Mayfly.create_mailbox, AsyncMailbox)
    open_mailbox: Final = _converted(Mayfly.open_mailbox, AsyncMailbox)
    domains: Final = _coroutine(Mayfly.domains)
    usage: Final = _coroutine(Mayfly.usage)
    emails: Final = _coroutine(Mayfly.emails)
    read_email: Final = _coroutine(Mayfly.read_email)
    raw_email: Final = _coroutine(Mayfly.raw_email)
    email_attachment: Final = _coroutine(Mayfly.email_attachment)

    def __init__(self, url: str, api_key: str | None = None) -> None:
        super().__init__(Mayfly(url, api_key))
        self.sessions: AsyncSessions = AsyncSessions(self._sync.sessions)
        self.own_domains: AsyncOwnDomains = AsyncOwnDomains(self._sync.own_domains)
        self.webhooks: AsyncWebhooks = AsyncWebhooks(self._sync.webhooks)

    def events(
        self,
        mailboxes: Sequence[AsyncMailbox],
        *,
        from_: str | None = None,
        subject: str | None = None,
        has_code: bool | None = None,
        has_link: bool | None = None,
        since_id: int | None = None,
    ) -> AsyncGenerator[MailboxEvent, None]:
        position = Position()
        params = event_params(from_, subject, has_code, has_link, since_id)
        return _each(self._sync._events([one._sync for one in mailboxes], params, position), position)

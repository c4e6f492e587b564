"""Run by test/client-python.test.ts, which starts the service and a signed webhook."""

import asyncio
import http.server
import inspect
import json
import os
import smtplib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

import mayfly_mail
from mayfly_mail import AsyncMayfly, Mayfly, MayflyError, MayflyTimeoutError, verify_webhook

CODE = {"subject": "Sign in", "text": "Your code is 493027."}
LINK = {"subject": "Welcome", "text": "Confirm your address: https://shop.test/verify?t=1"}


def send(mailbox, *, sender="ann@sender.test", subject="Hi", text="Hi.", headers=""):
    raw = f"From: {sender}\r\nSubject: {subject}\r\n{headers}\r\n{text}\r\n"
    with smtplib.SMTP("127.0.0.1", int(os.environ["SMTP_PORT"])) as smtp:
        smtp.sendmail("bounce@sender.test", [mailbox.email], raw)


def send_later(mailbox, **mail):
    threading.Timer(0.3, send, [mailbox], mail).start()


def test_wait_for_message_returns_each_message_once_the_oldest_first(mailbox):
    send(mailbox, subject="one")
    send(mailbox, subject="two")
    assert [mailbox.wait_for_message()["subject"] for _ in range(2)] == ["one", "two"]
    send_later(mailbox, subject="three", text="A body.")
    message = mailbox.wait_for_message()
    assert (message["subject"], message["body_text"].strip()) == ("three", "A body.")


def test_wait_for_message_selects_by_sender_and_subject(mailbox):
    send(mailbox, sender="a@mail.shop.test", subject="Order 1")
    send(mailbox, sender="b@other.test", subject="Invoice")
    assert mailbox.wait_for_message(subject="INVOICE")["subject"] == "Invoice"
    assert mailbox.wait_for_message(from_="shop.test")["subject"] == "Order 1"


def test_wait_for_message_raises_an_error_of_its_own_that_lists_the_mailbox(mailbox):
    send(mailbox, subject="Hello")
    with pytest.raises(MayflyTimeoutError) as caught:
        mailbox.wait_for_message(from_="shop.test", timeout=0.2)
    assert str(caught.value) == (
        f"No message from shop.test at {mailbox.email} within 0.2 s; the mailbox has “Hello” from ann@sender.test"
    )
    assert isinstance(caught.value, TimeoutError)


def test_wait_for_code_and_wait_for_link_skip_messages_without_one(mailbox):
    for mail in ({"subject": "News"}, CODE, LINK):
        send(mailbox, **mail)
    assert mailbox.wait_for_link() == "https://shop.test/verify?t=1"
    assert mailbox.wait_for_code() == "493027"
    assert mailbox.wait_for_message()["subject"] == "News"
    send_later(mailbox, subject="Again", text="Your code is 118822.")
    assert mailbox.wait_for_code() == "118822"


def test_parallel_waits_return_a_message_each(mailbox):
    with ThreadPoolExecutor() as threads:
        waits = [threads.submit(mailbox.wait_for_code) for _ in range(3)]
        for number in (118101, 118102, 118103):
            send(mailbox, subject="Sign in", text=f"Your code is {number}.")
        assert sorted(wait.result() for wait in waits) == ["118101", "118102", "118103"]


def test_a_message_that_is_deleted_while_it_is_picked_is_passed_over(mailbox, mayfly, monkeypatch):
    other, fetch = mayfly.open_mailbox(mailbox.token), mailbox._connection.json

    def delete_first(path, *args, **kwargs):
        if path == "api/read-mail":
            other.delete([one for one in other.messages() if one["subject"] == "deleted"])
        return fetch(path, *args, **kwargs)

    monkeypatch.setattr(mailbox._connection, "json", delete_first)
    send(mailbox, subject="deleted")
    send(mailbox, subject="kept")
    assert mailbox.wait_for_message()["subject"] == "kept"


def test_a_message_with_a_code_and_a_link_is_returned_once(mailbox):
    both = {"subject": "Both", "text": f"{CODE['text']}\r\n\r\n{LINK['text']}"}
    for mail in (CODE, both, both):
        send(mailbox, **mail)
    assert mailbox.wait_for_code_and_link() == ("493027", "https://shop.test/verify?t=1")
    assert mailbox.wait_for_code_and_link().link == "https://shop.test/verify?t=1"
    with pytest.raises(MayflyTimeoutError) as caught:
        mailbox.wait_for_link(timeout=0.1)
    returned = "“Both” from ann@sender.test (already returned)"
    assert str(caught.value).endswith(f"the mailbox has {returned}, {returned}, “Sign in” from ann@sender.test")


def test_expect_no_message(mailbox):
    mailbox.expect_no_message(timeout=0.1)
    send(mailbox, **CODE)
    with pytest.raises(MayflyError, match="“Sign in” from ann@sender.test") as caught:
        mailbox.expect_no_message(timeout=0)
    assert caught.value.code == "unexpected_message"
    mailbox.wait_for_code()
    mailbox.expect_no_message(timeout=0)
    send_later(mailbox, subject="late")
    with pytest.raises(MayflyError, match="“late”"):
        mailbox.expect_no_message()


def test_messages_read_and_attachment(mailbox):
    parts = [
        "--b\r\nContent-Type: text/plain\r\n\r\nSee the file.",
        "--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=r.pdf",
        "Content-Transfer-Encoding: base64\r\n\r\nAAEC/w==\r\n--b--",
    ]
    headers = "Content-Type: multipart/mixed; boundary=b\r\n"
    send(mailbox, subject="Report", headers=headers, text="\r\n".join(parts))
    send(mailbox, **CODE)
    assert [one["subject"] for one in mailbox.messages()] == ["Sign in", "Report"]
    (listed,) = mailbox.messages(subject="report")
    message = mailbox.read(listed)
    assert [one["filename"] for one in message["attachments"]] == ["r.pdf"]
    assert mailbox.attachment(message, 0) == b"\x00\x01\x02\xff"


def test_headers_raw_and_delete(mailbox):
    for subject in ("one", "two", "three"):
        send(mailbox, subject=subject)
    last, *others = mailbox.messages()
    assert [one["name"].lower() for one in mailbox.headers(last)][-2:] == ["from", "subject"]
    assert mailbox.raw(last).endswith(b"Subject: three\r\n\r\nHi.\r\n")
    assert mailbox.delete(last) == 1
    with pytest.raises(MayflyError) as caught:
        mailbox.delete(last)
    assert caught.value.code == "message_not_found"
    assert mailbox.delete([last["id"], *others]) == 2
    assert mailbox.delete([]) == 0
    assert mailbox.messages() == []


def test_update_and_settings(mayfly):
    mailbox = mayfly.create_mailbox(label="sign-up", max_messages=5)
    changed = mailbox.update(only_from=["shop.test"], clear=["max_messages"])
    assert changed["rules"] == {"only_from": ["shop.test"], "max_messages": None, "refused": 0}
    with pytest.raises(smtplib.SMTPDataError):
        send(mailbox)
    settings = mailbox.settings()
    assert (settings["rules"]["refused"], settings["label"]) == (1, "sign-up")


def test_has_link_selects_messages_with_a_link_to_follow(mailbox):
    for mail in (CODE, LINK, {"text": "See https://news.test/today"}):
        send(mailbox, **mail)
    assert mailbox.wait_for_link(kind="other") == "https://news.test/today"
    events = mailbox.events(since_id=0, has_link=True)
    assert next_subject(events) == "Welcome"
    assert [one["subject"] for one in mailbox.messages(has_link=True)] == ["Welcome"]


def test_domains(mayfly):
    assert sorted(one["domain"] for one in mayfly.domains()["domains"]) == ["box.test", "pool.test"]


def test_extend_open_and_end(mayfly):
    mailbox = mayfly.create_mailbox(domain="box.test", ttl=120, only_from=["shop.test", "other.test"], label="sign-up")
    assert mailbox.email.endswith("@box.test")
    before = mailbox.expires_at
    mailbox.extend(ttl=3_600)
    assert mailbox.expires_at > before + timedelta(minutes=50)
    again = mayfly.open_mailbox(mailbox.token)
    assert (again.email, again.expires_at) == (mailbox.email, mailbox.expires_at)
    again.end()
    with pytest.raises(MayflyError) as caught:
        mailbox.messages()
    assert (caught.value.status, caught.value.code) == (401, "invalid_token")
    assert caught.value.request_id


def test_a_mailbox_ends_with_its_block(mayfly):
    with mayfly.create_mailbox() as mailbox:
        pass
    with pytest.raises(MayflyError) as caught:
        mayfly.open_mailbox(mailbox.token)
    assert caught.value.code == "invalid_token"
    with mayfly.create_mailbox() as mailbox:
        mailbox.end()


def test_misspelled_parameters_are_refused(mayfly):
    with pytest.raises(TypeError):
        mayfly.create_mailbox(only_form=["shop.test"])


def test_async_waits_run_in_parallel(mayfly):
    async def run():
        async with await AsyncMayfly(os.environ["MAYFLY_URL"]).create_mailbox() as mailbox:
            waits = [asyncio.create_task(mailbox.wait_for_code()) for _ in range(2)]
            for number in (118101, 118102):
                await asyncio.to_thread(send, mailbox, text=f"Your code is {number}.")
            assert sorted(await asyncio.gather(*waits)) == ["118101", "118102"]
            (last, _) = await mailbox.messages()
            assert (await mailbox.read(last))["code"] == "118102"
        with pytest.raises(MayflyError):
            await mailbox.messages()

    asyncio.run(run())


def test_open_streams_do_not_delay_other_async_calls():
    async def run():
        mayfly = AsyncMayfly(os.environ["MAYFLY_URL"])
        followed = [await mayfly.create_mailbox() for _ in range(40)]
        streams = [mailbox.events(since_id=0) for mailbox in followed]
        events = [asyncio.create_task(stream.__anext__()) for stream in streams]
        codes = [str(493_000 + index) for index in range(41)]
        mailboxes = [await asyncio.wait_for(mayfly.create_mailbox(), 60) for _ in codes]
        waits = [asyncio.create_task(mailbox.wait_for_code()) for mailbox in mailboxes]
        for mailbox, code in zip(mailboxes, codes):
            send(mailbox, text=f"Your code is {code}.")
        assert await asyncio.wait_for(asyncio.gather(*waits), 60) == codes
        for mailbox in followed:
            send(mailbox, subject=mailbox.email)
        subjects = [event["message"]["subject"] for event in await asyncio.wait_for(asyncio.gather(*events), 60)]
        assert subjects == [mailbox.email for mailbox in followed]
        for stream in streams:
            await stream.aclose()

    asyncio.run(run())


def test_an_async_wait_that_is_cancelled_takes_no_message(mayfly):
    async def run():
        mailbox = await AsyncMayfly(os.environ["MAYFLY_URL"]).create_mailbox()
        wait = asyncio.create_task(mailbox.wait_for_code())
        await asyncio.sleep(0.1)
        wait.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wait
        await asyncio.to_thread(send, mailbox, **CODE)
        # Until the thread of the wait has ended.
        for thread in threading.enumerate():
            if thread.name.startswith("mayfly"):
                thread.join()
        return mailbox._sync

    assert asyncio.run(run()).wait_for_code() == "493027"


def test_async_events_end_with_their_loop(mayfly):
    async def run():
        mailbox = await AsyncMayfly(os.environ["MAYFLY_URL"]).create_mailbox()
        await asyncio.to_thread(send, mailbox, subject="one")
        events = mailbox.events(since_id=0)
        async for event in events:
            if event["type"] == "message":
                break
        # The stream is read once more, and closed meanwhile.
        pending = asyncio.create_task(events.__anext__())
        await asyncio.sleep(0.1)
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        await events.aclose()
        return event["message"]["subject"]

    assert asyncio.run(run()) == "one"


def test_events_resume_after_a_lost_connection_and_end_with_the_mailbox(mayfly):
    proxy = Proxy()
    mailbox = Mayfly(proxy.url).create_mailbox()
    events = mailbox.events(since_id=0)
    send(mailbox, subject="one")
    assert next_subject(events) == "one"
    proxy.cut()
    send(mailbox, subject="two")
    assert next_subject(events) == "two"
    mayfly.open_mailbox(mailbox.token).end()
    assert [event["type"] for event in events if event["type"] != "updated"] == ["end"]


def test_events_of_several_mailboxes_name_theirs_and_end_with_the_last(mayfly):
    proxy = Proxy()
    first, second = mayfly.create_mailbox(), mayfly.create_mailbox()
    events = Mayfly(proxy.url).events([first, second], since_id=0)
    send(first, subject="one")
    assert next(event["email"] for event in events if event["type"] == "message") == first.email
    first.end()
    assert next(event["email"] for event in events if event["type"] == "end") == first.email
    proxy.cut()
    send(second, subject="two")
    event = next(event for event in events if event["type"] != "updated")
    assert (event["message"]["subject"], event["email"]) == ("two", second.email)
    second.end()
    rest = [(event["type"], event["email"]) for event in events if event["type"] != "updated"]
    assert rest == [("end", second.email)]


def test_async_events_of_several_mailboxes(mayfly):
    async def run():
        client = AsyncMayfly(os.environ["MAYFLY_URL"])
        mailboxes = [await client.create_mailbox() for _ in range(2)]
        await asyncio.to_thread(send, mailboxes[1], subject="one")
        async for event in client.events(mailboxes, since_id=0):
            return event["email"] == mailboxes[1].email

    assert asyncio.run(run())


def next_subject(events):
    return next(event["message"]["subject"] for event in events if event["type"] == "message")


def test_emails_page_by_page(mayfly_with_key):
    mayfly = mayfly_with_key
    mailbox = mayfly.create_mailbox()
    for subject in ("one", "two", "three"):
        send(mailbox, subject=subject)
    first = mayfly.emails(to=mailbox.email, limit=2)
    assert [(one["subject"], one["address"]) for one in first.emails] == [
        ("three", mailbox.email),
        ("two", mailbox.email),
    ]
    rest = mayfly.emails(to=mailbox.email, limit=2, cursor=first.cursor)
    assert ([one["subject"] for one in rest.emails], rest.cursor) == (["one"], None)
    with pytest.raises(MayflyError) as caught:
        Mayfly(os.environ["MAYFLY_URL"], api_key="mf_live_wrong").emails()
    assert caught.value.code == "invalid_key"


def test_an_email_is_read_in_full(mayfly_with_key):
    mailbox = mayfly_with_key.create_mailbox()
    headers = "Content-Type: text/html\r\nContent-Disposition: attachment; filename=r.html\r\n"
    send(mailbox, headers=headers, text="<p>Hi.</p>")
    (listed,), cursor = mayfly_with_key.emails(to=mailbox.email)
    used = mayfly_with_key.usage()["used"]
    email = mayfly_with_key.read_email(listed)
    assert [one["filename"] for one in email["attachments"]] == ["r.html"]
    assert mayfly_with_key.read_email(listed["id"]) == email
    assert mayfly_with_key.raw_email(email).endswith(b"\r\n<p>Hi.</p>\r\n")
    assert mayfly_with_key.email_attachment(email, 0).strip() == b"<p>Hi.</p>"
    assert mayfly_with_key.usage()["used"] == used + 4
    with pytest.raises(MayflyError) as caught:
        mayfly_with_key.read_email(listed["id"], to="other@pool.test")
    assert (caught.value.code, cursor) == ("message_not_found", None)


def test_a_search_that_is_not_complete_says_so(scripted):
    mayfly = Mayfly(scripted._connection.url, api_key="mf_live_key")
    Scripted.answers, Scripted.body = [(200, {"X-Incomplete": "1"}), (200, {})], b"[]"
    assert [mayfly.emails(q="code").incomplete for _ in range(2)] == [True, False]


def test_sessions_of_a_key(mayfly_with_key):
    first = mayfly_with_key.create_mailbox(label="first", max_messages=3)
    second = mayfly_with_key.create_mailbox()
    sessions, cursor = mayfly_with_key.sessions.list(limit=1)
    assert [one["email"] for one in sessions] == [second.email]
    sessions, _ = mayfly_with_key.sessions.list(limit=1, cursor=cursor)
    assert [(one["email"], one["label"], one["rules"]["max_messages"]) for one in sessions] == [
        (first.email, "first", 3)
    ]
    recovered = mayfly_with_key.sessions.roll_token(first.email)
    assert (recovered.email, recovered.messages()) == (first.email, [])
    mayfly_with_key.sessions.end(second.email)
    for ended in (first, second):
        with pytest.raises(MayflyError) as caught:
            ended.messages()
        assert caught.value.code == "invalid_token"


def test_domains_of_a_key(mayfly_with_key):
    domains = mayfly_with_key.own_domains
    added = domains.add("corp.test")
    assert [(one["type"], one["name"]) for one in added["records"]] == [("TXT", "_mayfly.corp.test"), ("MX", "corp.test")]
    with pytest.raises(MayflyError) as caught:
        domains.verify(added["id"])
    assert caught.value.code == "dns_failed"
    assert domains.list() == [added]
    assert domains.update(added["id"], catch_all=False) == {**added, "catch_all": False}
    assert mayfly_with_key.sessions.list(permanent=True).sessions == []
    domains.delete(added["id"])
    with pytest.raises(MayflyError) as caught:
        domains.read(added["id"])
    assert caught.value.code == "domain_not_found"


def test_webhooks(mayfly_with_key):
    webhooks = mayfly_with_key.webhooks
    created = webhooks.create("http://127.0.0.1:9/", from_="shop.test")
    webhook_id = created["id"]
    assert webhooks.test(webhook_id)["error"] == "connection_failed"
    changed = webhooks.update(webhook_id, subject="code", clear=["from"], state="paused")
    assert (changed["from"], changed["subject"], changed["state"]) == (None, "code", "paused")
    assert webhooks.enable(webhook_id)["state"] == "active"
    assert webhooks.replay(webhook_id, since_id=0)["id"] == webhook_id
    assert webhooks.roll_secret(webhook_id)["secret"] != created["secret"]
    assert webhooks.deliveries(webhook_id) == []
    assert [webhooks.read(webhook_id)["id"]] == [one["id"] for one in webhooks.list()]
    webhooks.delete(webhook_id)
    with pytest.raises(MayflyError) as caught:
        webhooks.read(webhook_id)
    assert caught.value.code == "webhook_not_found"
    with pytest.raises(MayflyError, match="api_key"):
        Mayfly(os.environ["MAYFLY_URL"]).webhooks.list()


def test_async_methods_are_those_of_the_client():
    for kind in ("Mayfly", "Mailbox", "OwnDomains", "Sessions", "Webhooks"):
        of, asynchronous = (vars(getattr(mayfly_mail, name)) for name in (kind, f"Async{kind}"))
        for name in (name for name in of if not name.startswith("_")):
            assert parameters(asynchronous[name]) == parameters(of[name])


def parameters(method):
    return [(one.name, one.kind, one.default) for one in inspect.signature(method).parameters.values()]


def test_async_with_a_key():
    async def run():
        mayfly = AsyncMayfly(os.environ["MAYFLY_URL"], os.environ["MAYFLY_API_KEY"])
        created = await mayfly.create_mailbox(label="async")
        mailbox = await mayfly.sessions.roll_token(created.email)
        await asyncio.to_thread(send, mailbox, **CODE)
        (email,), _ = await mayfly.emails(to=mailbox.email)
        assert (await mayfly.read_email(email))["code"] == "493027"
        assert await mailbox.delete(await mailbox.messages()) == 1
        assert await mayfly.webhooks.list() == []
        return (await mailbox.update(label="done"))["label"]

    assert asyncio.run(run()) == "done"


class Scripted(http.server.BaseHTTPRequestHandler):
    """Answers each request with the next of `answers`."""

    answers, asked = [], []
    body = b""

    def do_GET(self):
        self.asked.append(self.path)
        status, headers = self.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *args):
        pass


@pytest.fixture
def scripted():
    server = http.server.HTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    Scripted.answers, Scripted.asked = [(200, {})], []
    Scripted.body = b"""{"code": "rate_limited", "message": "Later.", "email": "a@b.test", "messages": [],
        "expires_at_iso": "2026-03-01T12:00:00Z"}"""
    yield Mayfly(f"http://127.0.0.1:{server.server_port}").open_mailbox("token")
    server.shutdown()
    server.server_close()


def test_429_and_503_are_retried_after_retry_after(scripted):
    Scripted.answers = [(429, {"Retry-After": "0"}), (503, {"Retry-After": "Sun, 01 Mar 2026 12:00:00 GMT"}), (200, {})]
    assert scripted.messages() == []
    assert Scripted.answers == []


def test_429_is_raised_at_once_if_retry_after_is_beyond_the_timeout(scripted):
    Scripted.answers = [(429, {"Retry-After": "3600"})]
    with pytest.raises(MayflyError, match="Later.") as caught:
        scripted.messages(timeout=60)
    assert (caught.value.status, caught.value.code) == (429, "rate_limited")


def test_a_redirect_is_not_followed(scripted):
    Scripted.answers = [(302, {"Location": "/elsewhere"})]
    with pytest.raises(MayflyError) as caught:
        scripted.messages()
    assert caught.value.status == 302
    assert Scripted.asked == ["/api/check-mail?limit=1", "/api/check-mail"]


@pytest.mark.parametrize(
    "status, body, code",
    [(200, b"<html>", "network"), (200, b"\xff", "network"), (502, b"<html>", "unknown"), (502, b"[]", "unknown")],
)
def test_a_response_of_a_proxy_is_an_error_of_the_client(scripted, status, body, code):
    mayfly = Mayfly(scripted._connection.url, api_key="mf_live_key")
    for call in (scripted.messages, mayfly.emails):
        Scripted.answers, Scripted.body = [(status, {})], body
        with pytest.raises(MayflyError) as caught:
            call()
        assert caught.value.code == code


@pytest.mark.parametrize("id", ["", ".", ".."])
def test_an_id_that_would_change_the_path_is_refused(scripted, id):
    mayfly, asked = Mayfly(scripted._connection.url, api_key="mf_live_key"), len(Scripted.asked)
    email = {"id": id, "address": "a@b.test"}
    for call in (lambda: mayfly.webhooks.read(id), lambda: mayfly.webhooks.test(id), lambda: mayfly.raw_email(email)):
        with pytest.raises(MayflyError) as caught:
            call()
        assert caught.value.code == "invalid_parameter"
    assert len(Scripted.asked) == asked


def test_ids_are_percent_encoded(scripted):
    mayfly = Mayfly(scripted._connection.url, api_key="mf_live_key")
    Scripted.answers = [(200, {})] * 2
    mayfly.email_attachment({"id": "a/b?c", "address": "a@b.test"}, "../1")
    with pytest.raises(KeyError):
        mayfly.webhooks.read("../x")
    assert Scripted.asked[-2].startswith("/emails/a%2Fb%3Fc/attachments/..%2F1?")
    assert Scripted.asked[-1] == "/webhooks/..%2Fx"


def test_a_timeout_may_be_infinite_and_a_negative_one_is_over_at_once(mayfly, mailbox):
    send(mailbox, **CODE)
    assert mailbox.wait_for_code(timeout=float("inf")) == "493027"
    with pytest.raises(MayflyTimeoutError):
        mailbox.wait_for_code(timeout=-1)
    with pytest.raises(MayflyTimeoutError):
        mayfly.domains(timeout=-1)


def test_a_server_that_is_not_there_is_a_network_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(MayflyError) as caught:
            Mayfly(f"http://127.0.0.1:{unused.getsockname()[1]}").create_mailbox()
    assert (caught.value.status, caught.value.code) == (0, "network")


def webhook():
    """Signed by the reference implementation."""
    return json.loads(os.environ["WEBHOOK"])


def test_verify_webhook_returns_the_event():
    signed = webhook()
    assert verify_webhook(**signed)["data"]["subject"] == "Grüße"
    assert verify_webhook(signed["body"].encode(), signed["headers"], signed["secret"])["type"] == "message.received"
    rolled = {**signed["headers"], "webhook-signature": "v1,AAAA " + signed["headers"]["webhook-signature"]}
    assert verify_webhook(signed["body"], rolled, signed["secret"])


@pytest.mark.parametrize(
    "part, change",
    [
        ("body", lambda body: body + " "),
        ("secret", lambda secret: "whsec_" + "A" * 43 + "="),
        ("secret", lambda secret: ""),
        ("headers", lambda headers: {}),
        ("headers", lambda headers: {**headers, "webhook-id": "msg_2"}),
        ("headers", lambda headers: {**headers, "webhook-timestamp": str(int(time.time()) - 3_600)}),
        ("headers", lambda headers: {**headers, "webhook-signature": "v1,*"}),
        ("headers", lambda headers: {**headers, "webhook-signature": headers["webhook-signature"].replace("v1", "v2")}),
    ],
)
def test_verify_webhook_refuses_another(part, change):
    signed = webhook()
    with pytest.raises(MayflyError) as caught:
        verify_webhook(**{**signed, part: change(signed[part])})
    assert caught.value.code == "invalid_signature"


class Proxy:
    """In front of the service; its connections can be cut."""

    def __init__(self):
        host, port = os.environ["MAYFLY_URL"].split("//")[1].split(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self._listener.accept()
            upstream = socket.create_connection(self._target)
            self._sockets += [client, upstream]
            for source, target in ((client, upstream), (upstream, client)):
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source, target):
        try:
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self):
        for one in self._sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

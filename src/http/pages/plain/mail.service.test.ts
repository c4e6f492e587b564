import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../../test/kit/app/app.ts'
import { request } from '../../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../../test/kit/http/http-server.ts'
import type { Address } from '../../../base/address.ts'
import type { Message } from '../../../mail/rules/message.ts'
import { EMPTY_MAIL, type Mail } from '../../../shared/mail.ts'
import {
  assertNoScriptPage,
  cookieFor,
  ENGLISH_SITE,
  HOSTILE,
  noScriptClient,
} from '../testing/no-script-client.ts'
import { mailPage } from './mail.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

const { get, sessionWithMail } = noScriptClient(() => app)

const MESSAGE: Message = {
  id: 7,
  rawId: 1,
  recipient: 'you@box.test' as Address,
  senderName: 'Ann',
  senderEmail: 'ann@sender.test',
  subject: 'Hello',
  receivedAt: new Date('2026-03-01T12:00:00Z'),
  code: undefined,
  preview: undefined,
  attachments: undefined,
  links: undefined,
  size: 1,
}

const NEWSLETTER = `From: news@news.test
Subject: News
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b

See our page: https://click.news.test/?id=1&long=yes
--b
Content-Type: text/html

<h2>Autumn recipes</h2><ul><li>Soup<li>Pie</ul>
<p><a href="https://click.news.test/?id=1&amp;long=yes">Read more</a></p>
--b--
`.replaceAll('\n', '\r\n')

/** The page of a mail with this parse result. */
async function pageOf(mail: Mail): Promise<string> {
  const server = await openTestServer({ parse: async () => mail })
  try {
    const created = await request(`${server.url}/api/create-session`, { method: 'POST' })
    const { email, token } = created.body as { email: string; token: string }
    await server.mail(email)
    const { text } = await request(`${server.url}/plain`, { headers: cookieFor(token) })
    const path = /\/plain\/mail\/\d+/.exec(text)?.[0] ?? ''
    return (await request(`${server.url}${path}`, { headers: cookieFor(token) })).text
  } finally {
    await server.stop()
  }
}

describe('200', () => {
  test('shows a message as text with its code and sender, and does not reload', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const response = await get(`/plain/mail/${id}`, cookieFor(token))
    expect(response.status).toBe(200)
    assertNoScriptPage(response)
    expect(response.text).toMatch(/<pre class="plain-text" dir="auto">Your code is 123456\./)
    expect(response.text).toMatch(/Ann Sender[\s\S]*ann@sender\.test/)
    expect(response.text).not.toContain('http-equiv="refresh"')
  })

  test('untrusted text is escaped everywhere', async () => {
    const { token, id } = await sessionWithMail(HOSTILE)
    for (const path of ['/plain', `/plain/mail/${id}`]) {
      const { text } = await get(path, cookieFor(token))
      expect(text, path).toContain('alert(1)')
      expect(text, path).not.toMatch(/<(script>|svg|img)|"\s*onmouseover/)
    }
  })

  test('links show their host, and only http and https become links', async () => {
    const links = [
      ['https://real.test:8443/verify?a=1&b="', 'https://bank.test', 'verify'],
      ['http://other.test/', '<b>news</b>', 'other'],
      ['javascript:alert(1)', 'confirm', 'verify'],
      ['data:text/html,x', 'open', 'other'],
      ['//half', 'open', 'other'],
    ].map(([url = '', text = '', kind = '']) => ({ url, text, kind, host: 'bank.test' }))
    const text = await pageOf({ ...EMPTY_MAIL, text: 'x', links } as Mail)
    expect(
      [...text.matchAll(/<a href="([^"]*)" rel="noreferrer noopener">/g)].map(([, href]) => href),
    ).toStrictEqual(['https://real.test:8443/verify?a=1&#38;b=%22', 'http://other.test/'])
    expect(text).toMatch(
      /https:\/\/bank\.test<\/bdi><\/a>\s*<span class="plain-host">Goes to <bdi>real\.test:8443</,
    )
    expect(text).toContain('&#60;b&#62;news')
  })

  for (const [dmarc, badge] of [
    ['pass', 'Verified: sender.test'],
    ['fail', 'May not be from sender.test'],
    ['none', 'Unverified sender'],
  ] as const) {
    test(`the sender badge for DMARC ${dmarc} is “${badge}”`, () => {
      const checks = { spf: 'none', dkim: 'none', dmarc } as const
      const content = { message: MESSAGE, mail: EMPTY_MAIL, checks, token: 't' }
      expect(String(mailPage(ENGLISH_SITE, content).body)).toContain(badge)
    })
  }

  for (const [name, dmarc, clickable] of [
    ['Ann', 'pass', true],
    ['Ann', 'fail', false],
    ['service@bank.test', 'pass', false],
  ] as const) {
    test(`${clickable ? 'links' : 'no links'} are clickable from ${name} with DMARC ${dmarc}`, () => {
      const link = { url: 'https://a.test/', text: 'x', host: 'a.test', kind: 'verify' } as const
      const body = mailPage(ENGLISH_SITE, {
        message: { ...MESSAGE, senderName: name },
        mail: { ...EMPTY_MAIL, links: [link] },
        checks: { spf: 'none', dkim: 'none', dmarc },
        token: 't',
      }).body
      expect(String(body).includes('href="https://a.test/"')).toBe(clickable)
    })
  }

  test('HTML that says more than the text part is shown as text, with headings, lists and targets of links; body_text stays the text part', async () => {
    const { token, id } = await sessionWithMail(NEWSLETTER)
    const { text } = await get(`/plain/mail/${id}`, cookieFor(token))
    const [, shown = ''] = /<pre class="plain-text" dir="auto">(.*?)<\/pre>/s.exec(text) ?? []
    const target = 'https://click.news.test/?id=1&#38;long=yes'
    expect(shown).toBe(
      `Autumn recipes\n\n * Soup\n * Pie\n\nRead more [<a href="${target}" rel="noreferrer noopener"><bdi>click.news.test</bdi></a>]`,
    )
    const { body } = await get(`/api/read-mail?id=${id}`, { authorization: `Bearer ${token}` })
    const message = body['message'] as Record<string, unknown>
    expect(message['body_text']).toBe('See our page: https://click.news.test/?id=1&long=yes')
  })

  test('from a suspicious sender, targets of links are text', () => {
    const mail = { ...EMPTY_MAIL, text: 'Read [https://a.test/x]' }
    const checks = { spf: 'none', dkim: 'none', dmarc: 'fail' } as const
    const { body } = mailPage(ENGLISH_SITE, { message: MESSAGE, mail, checks, token: 't' })
    expect(String(body)).toContain('>Read [https://a.test/x]</pre>')
  })

  test('very long text is truncated, with a notice', async () => {
    const { token, id } = await sessionWithMail(
      `Subject: long\r\n\r\n${'word \r\n'.repeat(60_000)}`,
    )
    const { text } = await get(`/plain/mail/${id}`, cookieFor(token))
    expect(text.length).toBeLessThan(300_000)
    expect(text).toMatch(/Only the beginning is shown/)
  })

  test('an attachment equals that of the API, and other sites cannot embed it', async () => {
    const { token, id } = await sessionWithMail(HOSTILE)
    for (const [path, api] of [
      [`/plain/mail/${id}/files/0`, `/api/attachment?id=${id}&index=0`],
      [`/plain/mail/${id}/raw`, `/api/raw-mail?id=${id}`],
    ] as const) {
      const response = await get(path, cookieFor(token))
      const other = await get(api, { authorization: `Bearer ${token}` })
      expect(response.status).toBe(200)
      expect(response.text).toBe(other.text)
      for (const name of ['content-type', 'content-disposition', 'content-security-policy']) {
        expect(response.headers.get(name), name).toBe(other.headers.get(name))
      }
      expect(response.headers.get('content-disposition') ?? '').toMatch(/^attachment;/)
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('access-control-allow-origin')).toBe(null)
      expect(response.headers.get('cross-origin-resource-policy')).toBe('same-origin')
    }
  })
})

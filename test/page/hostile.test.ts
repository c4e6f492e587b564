import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../kit/app/app.ts'
import { PHONE } from '../kit/page/browser.ts'
import { type Canary, hostsIn, type Observed, openCanary } from '../kit/page/canary.ts'
import { PAYLOADS } from '../kit/page/hostile-html.ts'
import { HOSTILE_MAILS, hostileMail, htmlMail } from '../kit/page/hostile-mails.ts'
import { openMailbox } from '../kit/page/inbox.ts'
import { renderWithLayers } from '../kit/page/layers.ts'
import { openAllScript, sendAll } from '../kit/page/open-all.ts'
import { sharedPageApp } from '../kit/page/pages.ts'

// hostile-layers.test.ts displays every payload. In the inbox the long tests open all of them; otherwise some of each family.
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const payloads = PAYLOADS.filter((_, at) => LONG || at % 32 === 0)

const names = Object.keys(HOSTILE_MAILS)
const mails = [
  ...payloads.map((payload, at) => htmlMail(payload, at)),
  ...names.map((name, at) => hostileMail(name, payloads.length + at)),
]

let canary: Canary
let app: App
beforeAll(async () => {
  canary = await openCanary(hostsIn([...payloads, ...mails]))
  app = await sharedPageApp()
})
afterAll(() => canary.close())

// What DOMPurify's parser logs about a document that is never displayed.
const PARSER_MESSAGES = [
  /^Executing inline event handler violates .* The action has been blocked/,
  /^Setting the document's base URI/,
  /^'javascript' URLs may not be used as base URLs/,
  /^@import rules are not allowed here/,
  /^Loading media from .* The action has been blocked/,
]

/** No script ran, nothing navigated and nothing was requested. */
function assertInert({ ran, requested, left, logged }: Observed): void {
  expect({ ran: ran.map(named), asked: requested, left, heard: canary.requests }).toStrictEqual({
    ran: [],
    asked: [],
    left: [],
    heard: [],
  })
  expect([
    ...new Set(logged.filter((text) => !PARSER_MESSAGES.some((one) => one.test(text)))),
  ]).toStrictEqual([])
}

function named(word: string): string {
  const number = Number.parseInt(word, 10)
  return `${word}: ${payloads[number] ?? names[number - payloads.length]}`
}

describe('hostile mail, when opened', () => {
  const AT_ONCE = LONG ? 3 : 1
  const share = Math.ceil(mails.length / AT_ONCE)
  test(`runs no script, sends no request and does not navigate: ${mails.length} mails`, async () => {
    const all = Array.from({ length: AT_ONCE }, (_, at) => ({
      first: at * share,
      some: mails.slice(at * share, (at + 1) * share),
    }))
    const seen = await Promise.all(all.map(openAll))
    await canary.flush()
    for (const watched of seen) assertInert(watched)
  })
})

// Last, because its requests keep arriving for a while.
describe('the canary', () => {
  test('detects a script, a request, a window and a navigation of the page (control)', async () => {
    const layers = { purifier: false, sandbox: false, policy: undefined }
    const { ran, requested, left } = await renderWithLayers(canary, layers, [
      '<img src=x onerror=alert(1)>',
      '<p style="background:url(http://canary.test/seen)">x</p>',
      '<script>open("http://canary.test/window")</script>',
    ])
    const navigation = await renderWithLayers(canary, layers, [
      '<script>top.location = "http://canary.test/top"</script>',
    ])
    expect(ran).toStrictEqual(['0 1'])
    expect(requested).toContain('http://canary.test/seen')
    expect(canary.requests.some((line) => line.startsWith('GET /seen '))).toBeTruthy()
    expect(left.some((line) => line.startsWith('a window'))).toBeTruthy()
    expect(navigation.left).toContain('http://canary.test/top')
  })
})

async function openAll({ first, some }: { first: number; some: string[] }): Promise<Observed> {
  // On a phone the list is not laid out beside each message.
  const context = await canary.browser.newContext({ reducedMotion: 'reduce', viewport: PHONE })
  const watched = await canary.watch(context, app.url)
  const { page } = watched
  const session = await app.session()
  await sendAll(app, session.email, some)
  await openMailbox(page, app, session)
  await page.locator('.mail-open').first().waitFor()
  const opened = await page.evaluate(openAllScript(first, some.length, payloads.length))
  expect(opened).toBe(some.length)
  expect(new URL(page.url()).pathname).toBe('/')
  await context.close()
  return watched
}

import { execFileSync } from 'node:child_process'
import { expect } from 'vitest'
import type { App } from '../../app/app.ts'
import { program } from '../../programs/programs.ts'
import type { KeyRing } from '../../shop/keys.ts'
import { waitUntil } from '../../wait-until.ts'
import { mailMany, plainMail, storedMailboxes, waitForSubjects } from '../inbox.ts'
import { htmlMail, welcomeMail } from '../mails.ts'
import { ADMIN_TOKEN } from '../views/admin.ts'
import { type Engine, flush, type Visitor } from './driver.ts'

/** What a visitor does, in a new tab. */
export type Flow = (stage: Stage) => Promise<void>

export interface Stage {
  visitor: Visitor
  engine: Engine
  app: App
  ring: KeyRing
}

/** In every run. */
export const SMOKE: Record<string, Flow> = {
  async 'an address appears, and mail to it, with its code; HTML is displayed in a frame'({
    visitor,
    app,
  }) {
    const { email } = await openInbox({ visitor, app })
    await expect.poll(() => visitor.text('#address')).toBe(email)
    await app.mail(email, plainMail({ subject: 'Sign in', text: 'Your code is 482915.' }))
    await visitor.see('.mail-code', '482915')
    await visitor.click('.mail-open', 'Sign in')
    await visitor.see('.mail-text', 'Your code is 482915.')
    await app.mail(email, welcomeMail())
    await visitor.click('.mail-open', 'Confirm your address')
    await visitor.seeInFrame('.mail-frame', 'valid for ten minutes')
    await visitor.see('article', 'login.acme.test')
  },
}

/** On other pages than the inbox. */
export const OTHER_PAGES: Record<string, Flow> = {
  async 'without the page’s scripts, an address is created, its mail read, and the address deleted'({
    visitor,
    app,
  }) {
    await visitor.goto(`${app.url}/plain`)
    await visitor.click('button', 'Get an address')
    const address = (await visitor.text('.plain-address')).trim()
    expect(await app.mail(address)).toBe(250)
    await visitor.click('a', 'Check now')
    await visitor.click('a', 'Hello')
    await visitor.see('main', 'Your code is 123456.')
    await visitor.click('button', 'Delete')
    await visitor.see('main', 'No messages yet')
    await visitor.click('a', 'Delete address')
    await visitor.see('h1', 'Delete this address?')
    await visitor.click('button', 'Delete')
    await visitor.see('main', 'Address and mail deleted')
    expect(await app.mail(address)).toBe(550)
  },

  async 'a key shows its usage, is kept for the tab only, and is forgotten'({
    visitor,
    app,
    ring,
  }) {
    const key = await ring.issue({ requests: 2_000 })
    await fetch(`${app.url}/emails`, { headers: key.headers })
    await visitor.goto(`${app.url}/key`)
    await visitor.fill('input', key.secret, 'Your key')
    await visitor.click('button', 'Show usage')
    await visitor.see('main', '1 of 2,000 used')
    await visitor.see('.plot canvas')
    await visitor.goto(`${app.url}/key`)
    await visitor.see('main', '1 of 2,000 used')
    expect(await visitor.evaluate('JSON.stringify(localStorage)')).not.toContain('mf_')
    await visitor.click('button', 'Forget this key')
    await visitor.see('input', 'Your key')
    expect(await visitor.evaluate('sessionStorage.length')).toBe(0)
  },

  async 'a plan is bought, and its key works'({ visitor, app }) {
    await visitor.goto(`${app.url}/pricing`)
    await visitor.click('button:enabled', 'Buy Starter')
    await visitor.see('body', 'This is a test shop')
    await visitor.click('button', 'Pay $5')
    await visitor.click('button', 'Show my key')
    const key = await visitor.text('.order .key-shown')
    expect(key).toMatch(/^mf_test_/)
    const { status } = await fetch(`${app.url}/usage`, { headers: { apikey: key } })
    expect(status).toBe(200)
  },

  async 'the operator signs in, stays so after a reload, and signs out; a wrong token is refused'({
    visitor,
    app,
  }) {
    await visitor.goto(`${app.url}/admin`)
    await visitor.fill('input', 'wrong', 'Admin token')
    await visitor.click('button', 'Sign in')
    await visitor.see('main', 'This is not the admin token')
    await visitor.fill('input', ADMIN_TOKEN, 'Admin token')
    await visitor.click('button', 'Sign in')
    await visitor.see('button', 'Sign out')
    await visitor.goto(`${app.url}/admin`)
    await visitor.click('nav a', 'Domains')
    await visitor.see('main', 'box.test')
    const stored = 'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])'
    expect(await visitor.evaluate(stored)).not.toMatch(/admin-token|mayfly-admin/)
    await visitor.click('button', 'Sign out')
    await visitor.see('input', 'Admin token')
  },
}

export const MAIN_FLOWS: Record<string, Flow> = {
  ...SMOKE,
  ...OTHER_PAGES,

  async 'remote images are blocked, and requested without a referrer after a click'({
    visitor,
    engine,
    app,
  }) {
    const { email } = await openInbox({ visitor, app })
    const image = '<p>Look:</p><img src="http://images.test/one.png" width="30" height="30" alt="">'
    await app.mail(email, htmlMail(image, { subject: 'A picture' }))
    await visitor.click('.mail-open', 'A picture')
    await visitor.seeInFrame('.mail-frame', 'Look:')
    await visitor.see('.remote-images', '1 remote image blocked')
    expect(engine.seen.requests).toStrictEqual([])
    await visitor.click('.remote-images button', 'Load once')
    await waitUntil(() => engine.seen.requests.length > 0)
    await flush(visitor)
    const requests = engine.seen.requests.splice(0)
    expect(new Set(requests)).toStrictEqual(new Set(['GET http://images.test/one.png HTTP/1.1']))
    expect(requests.length, 'once more for the hidden copy for printing').toBeLessThanOrEqual(2)
  },

  async 'a mail of a fixed width is scaled to fit its frame, beside the scroll bar'({
    visitor,
    app,
  }) {
    const { email } = await openInbox({ visitor, app })
    const table = `<table width="1000" cellspacing="0"><tr><td>${'<p>Wide</p>'.repeat(90)}</td></tr></table>`
    await app.mail(email, htmlMail(`<body style="margin:0">${table}</body>`, { subject: 'Wide' }))
    // As on a touch screen: elsewhere it keeps its size.
    await visitor.evaluate(`(() => {
      const real = matchMedia
      window.matchMedia = (query) => (query === '(pointer: coarse)' ? { matches: true } : real(query))
    })()`)
    await visitor.click('.mail-open', 'Wide')
    await visitor.seeInFrame('.mail-frame', 'Wide')
    const look = `(() => {
      const scroller = document.createElement('div')
      scroller.style.cssText = 'position:fixed;width:99px;overflow:scroll'
      document.body.append(scroller)
      const bar = scroller.offsetWidth - scroller.clientWidth
      scroller.remove()
      return document.querySelector('.mail-frame').offsetWidth - bar
    })()`
    await expect.poll(() => visitor.evaluate(look)).toBe(1000)
  },

  async 'a deleted message can be restored, and is deleted on the server when the page is left'({
    visitor,
    app,
  }) {
    const { email, token } = await openInbox({ visitor, app })
    await mailMany(app, email, 2)
    await visitor.click('.mail-open', 'Mail 2')
    await visitor.see('.reader h2', 'Mail 2')
    await visitor.click('.reader-action', 'Delete')
    await visitor.gone('.mail', 'Mail 2')
    await visitor.click('.toast button', 'Undo')
    await visitor.see('.mail', 'Mail 2')
    await visitor.gone('.toast button', 'Undo')
    await visitor.click('.mail-open', 'Mail 1')
    await visitor.see('.reader h2', 'Mail 1')
    await visitor.press(['#'])
    await visitor.gone('.mail', 'Mail 1')
    await visitor.goto(`${app.url}/favicon.svg`)
    await waitForSubjects(app, token, ['Mail 2'])
  },

  async 'each address has its own mail, and a reload keeps them'({ visitor, app }) {
    const first = await openInbox({ visitor, app })
    await app.mail(first.email, plainMail({ subject: 'For the first' }))
    await visitor.see('.mail', 'For the first')
    await visitor.click('#new-address')
    await waitUntil(async () => (await visitor.text('#address')) !== first.email)
    const second = await visitor.text('#address')
    await visitor.gone('.mail', 'For the first')
    await app.mail(second, plainMail({ subject: 'For the second' }))
    await visitor.see('.mail', 'For the second')
    await visitor.goto(app.url)
    await visitor.see('.mail', 'For the second')
    await visitor.click('.switcher summary')
    await visitor.click('.switcher button', `Show ${first.email}`)
    await visitor.see('.mail', 'For the first')
    await expect.poll(() => visitor.text('#address')).toBe(first.email)
  },

  async 'the whole message is printed, by the button, by the keys and by the browser'({
    visitor,
    app,
  }) {
    const { email } = await openInbox({ visitor, app })
    const html = `<p>The first line</p>${'<p>More</p>'.repeat(300)}<p>The last line</p>`
    await app.mail(email, htmlMail(html, { subject: 'A long letter' }))
    await visitor.click('.mail-open', 'A long letter')
    await visitor.seeInFrame('.mail-frame', 'The last line')
    await visitor.evaluate(RECORD_PRINT)
    const count = () => visitor.evaluate('globalThis.printed.length')
    await visitor.click('.reader-action', 'Print')
    await waitUntil(async () => (await count()) === 1)
    await visitor.press(['Control+p'])
    await waitUntil(async () => (await count()) === 2)
    for (const text of (await visitor.evaluate('globalThis.printed')) as string[]) {
      expect(text).toMatch(/^A long letter\n.*The first line\n.*The last line/s)
    }
    const pdf = await visitor.pdf()
    if (pdf) expect(pdfText(pdf)).toMatch(/A long letter.*The first line.*The last line/s)
  },

  async 'the policy blocks inline scripts, scripts and plug-ins of other hosts, and requests to them'({
    visitor,
    engine,
    app,
  }) {
    await openInbox({ visitor, app })
    const blocked = (await visitor.evaluate(BREAK_POLICY)) as string[]
    // Engines differ in whether they name the directive that was set or its fallback.
    const kinds = blocked.map((directive) => directive.replace(/-(?:elem|attr)$/, ''))
    expect(new Set(kinds)).toStrictEqual(new Set(['script-src', 'connect-src', 'object-src']))
    expect(await visitor.evaluate('globalThis.broken ?? null')).toBe(null)
    expect(engine.seen.requests).toStrictEqual([])
  },
}

/** The inbox of a new address, live. */
async function openInbox({ visitor, app }: Pick<Stage, 'visitor' | 'app'>) {
  await visitor.goto(app.url)
  await visitor.see('main', 'Live –')
  const [mailbox] = await storedMailboxes(visitor)
  expect.assert(mailbox)
  return mailbox
}

/** Run in the page: the text of what is printed is recorded, instead of a dialog. */
const RECORD_PRINT = `(() => {
  globalThis.printed = []
  document.addEventListener('load', ({ target }) => {
    const { contentWindow, contentDocument } = target
    if (contentDocument) contentWindow.print = () => printed.push(contentDocument.body.innerText)
  }, true)
})()`

/** Run in the page: the directives that blocked something. */
const BREAK_POLICY = `(async () => {
  const blocked = []
  document.addEventListener('securitypolicyviolation', (event) => blocked.push(event.effectiveDirective))
  const add = (name, properties) => document.body.append(Object.assign(document.createElement(name), properties))
  add('script', { textContent: 'globalThis.broken = "inline"' })
  add('script', { src: 'http://canary.test/script.js' })
  add('object', { data: 'http://canary.test/object' })
  add('p', { innerHTML: '<img src="data:," onerror="globalThis.broken = 1">' })
  await fetch('http://canary.test/fetch').catch(() => {})
  for (let frames = 0; frames < 20; frames += 1) await new Promise(requestAnimationFrame)
  return blocked
})()`

/** The text of a PDF, without ligatures. */
function pdfText(pdf: Buffer): string {
  return execFileSync(program('pdftotext'), ['-', '-'], { input: pdf }).toString().normalize('NFKC')
}

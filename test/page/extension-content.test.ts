import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ContentCommand } from '../../clients/extension/src/messages.ts'
import { sharedBrowser } from '../kit/page/browser.ts'
import { drive } from '../kit/page/engines/chromium.ts'
import { unpackExtension } from '../kit/page/extension/engine.ts'
import { clickButton, placeOf } from '../kit/page/extension/person.ts'

// The content script, with a background script that responds as the test wants.

/** The API of extensions, and three fields, which are variables in the page by their ids. */
const PAGE = `<!doctype html><title>Sign up</title>
<input id="email" type="email"><input id="password" type="password"><input id="code" autocomplete="one-time-code">
<script>
  const requests = []
  let isAllowed = false, respond, run
  globalThis.chrome = {
    runtime: {
      onMessage: {
        addListener(listener) {
          run = (command) => {
            let response
            listener(command, {}, (value) => { response = value })
            return response
          }
        },
      },
      async sendMessage({ type }) {
        requests.push(type)
        if (type === 'page-state') return { value: { isAllowed, offer: null } }
        return await new Promise((resolve) => { respond = resolve })
      },
    },
    i18n: { getMessage: (name, values = []) => [name, ...values].join(' ') },
  }
</script>`

let page: Page
let extension: Awaited<ReturnType<typeof unpackExtension>>
beforeAll(async () => {
  extension = await unpackExtension('chromium', [])
  page = await (await sharedBrowser()).newPage()
  await page.route('**', (route) => route.fulfill({ contentType: 'text/html', body: PAGE }))
})
afterAll(async () => {
  await page.close()
  extension.remove()
})
beforeEach(() => openPage())

async function openPage(prepare = ''): Promise<void> {
  await page.goto('https://www.shop.test/sign-up')
  await page.evaluate(prepare)
  await page.addScriptTag({ path: join(extension.path, 'content.js') })
}

const run = (command: ContentCommand): Promise<unknown> =>
  page.evaluate(`run(${JSON.stringify(command)})`)
const values = () => page.evaluate('[email, password, code].map(({ value }) => value)')
/** The kinds of what is shown. */
const panels = () =>
  page.evaluate(`[...document.querySelectorAll('[data-mayfly]')].map((one) => one.dataset.mayfly)`)

// Chromium does not prerender while a debugger is attached.
test('a prerendered page asks for nothing until it is shown', async () => {
  await openPage(`void Object.defineProperty(document, 'prerendering', { value: true })`)
  expect(await page.evaluate('requests')).toEqual([])
  await page.evaluate(`void document.dispatchEvent(new Event('prerenderingchange'))`)
  expect(await page.evaluate('requests')).toEqual(['page-state'])
})

const SITE = { site: 'shop.test' }
const FIND = { ...SITE, type: 'find', isHere: true } as const
const FILL = { ...SITE, type: 'fill', email: 'a@mail.test' } as const

test('the field that was found is filled, whatever has the focus by then', async () => {
  await page.focus('#email')
  expect(await run(FIND)).toBe(true)
  await page.focus('#password')
  expect(await run(FILL)).toBe(true)
  expect(await values()).toEqual(['a@mail.test', '', ''])
})

test.each([
  ['in which something was typed meanwhile', `email.value = 'me@shop.test'`],
  ['that is for something else by now', `email.type = 'password'`],
])('a field %s is not filled', async (_, change) => {
  await page.focus('#email')
  await run(FIND)
  await page.evaluate(change)
  const before = await values()
  expect(await run(FILL)).toBe(false)
  expect(await values()).toEqual(before)
})

test('no other kind of field is filled if the one that was found is gone', async () => {
  await page.focus('#email')
  await run(FIND)
  await page.evaluate('globalThis.email = email; email.remove()')
  await page.focus('#password')
  expect(await run(FILL)).toBe(false)
  expect(await values()).toEqual(['', '', ''])
})

const CODE = { id: 'a', code: '1234', link: null, sender: 'shop.test', badge: 'proven' } as const
const offer = (messageId: number) =>
  ({ ...SITE, type: 'offer', offer: { ...CODE, messageId } }) as const

test('what is meant for another site is refused', async () => {
  for (const command of [FIND, FILL, { type: 'fill-code', code: '1234' }, offer(9)] as const) {
    expect(await run({ ...command, site: 'other.test' })).toBe(false)
  }
  expect(await values()).toEqual(['', '', ''])
  expect(await panels()).toEqual([])
})

test('an offer ends with its own message, or with its address', async () => {
  await run(offer(9))
  await run({ type: 'end-offer', id: 'a', messageId: 8 })
  await run({ type: 'end-offer', id: 'b' })
  expect(await panels()).toEqual(['code'])
  await run({ type: 'end-offer', id: 'a', messageId: 9 })
  expect(await panels()).toEqual([])
  await run(offer(10))
  expect(await panels()).toEqual(['code'])
  await run({ type: 'end-offer', id: 'a' })
  expect(await panels()).toEqual([])
})

test('a page from the cache of the browser ends an offer that is over by now', async () => {
  await run(offer(9))
  expect(await panels()).toEqual(['code'])
  // Playwright turns that cache off.
  const restored = `new PageTransitionEvent('pageshow', { persisted: true })`
  await page.evaluate(`void dispatchEvent(${restored})`)
  await expect.poll(panels).toEqual([])
})

async function showButton(): Promise<void> {
  await page.focus('#email')
  await page.evaluate('isAllowed = true')
  await run({ type: 'reload-state' })
  await expect.poll(panels).toEqual(['address'])
}

/** As when a window gets the focus back. */
const focusAgain = () => page.evaluate('email.blur(); email.focus()')

test('a button that the page has removed comes back with the focus', async () => {
  await showButton()
  await page.evaluate(`document.querySelector('[data-mayfly]').remove()`)
  await focusAgain()
  expect(await panels()).toEqual(['address'])
})

const tab = () => ({ ...drive(page), close: () => page.close() })
async function requestAddress(): Promise<void> {
  await showButton()
  await clickButton(tab(), 'address', () => page.evaluate(`requests.includes('new-address')`))
}

test('what was typed while the address was created stays, and a note names the address', async () => {
  await requestAddress()
  await page.keyboard.type('me@shop.test')
  await page.evaluate(`respond({ value: 'a@mail.test' })`)
  await expect.poll(panels).toEqual(['note'])
  expect(await values()).toEqual(['me@shop.test', '', ''])
  // Also what is in closed shadow trees.
  const debug = await page.context().newCDPSession(page)
  const tree = await debug.send('DOM.getDocument', { depth: -1, pierce: true })
  expect(JSON.stringify(tree)).toContain('"address_created a@mail.test"')
})

test('the button comes back neither while its address is created nor in place of a note', async () => {
  await requestAddress()
  await focusAgain()
  expect(await panels()).toEqual([])
  await page.evaluate(`respond({ error: 'error_away' })`)
  await expect.poll(panels).toEqual(['note'])
  await focusAgain()
  expect(await panels()).toEqual(['note'])
  await page.evaluate(`document.body.append(Object.assign(email.cloneNode(), { id: 'other' }))`)
  await page.focus('#other')
  expect(await panels()).toEqual(['address'])
  const below = `document.elementsFromPoint(${await placeOf(tab(), 'address')})`
  expect(await page.evaluate(`${below}.map(({ id }) => id)`)).toContain('other')
})

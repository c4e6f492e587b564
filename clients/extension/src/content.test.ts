import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import type { ContentCommand } from './messages.ts'

// The commands of the background script, in a page that has two fields and nothing else.

class FakeElement extends EventTarget {
  isConnected = true
  shadowRoot = null
  getBoundingClientRect() {
    return { width: 200 }
  }
}
class FakeInput extends FakeElement {
  type: string
  value = ''
  autocomplete = ''
  maxLength = -1
  form = null
  constructor(type: string) {
    super()
    this.type = type
  }
  checkVisibility() {
    return true
  }
  focus() {
    page.activeElement = this
  }
}

const email = new FakeInput('email')
const password = new FakeInput('password')
const page = Object.assign(new EventTarget(), {
  activeElement: null as FakeInput | null,
  // It is loaded in advance.
  prerendering: true,
  querySelectorAll: () => [email, password].filter(({ isConnected }) => isConnected),
})
const requests: string[] = []
let isAllowed = false
/** Responds to the request for a new address. */
let respond: (response: { value: string } | { error: string }) => void
/** What is shown in the page: at most one panel. */
let open: { kind: string; click(): void } | undefined
function openPanel(kind: string, anchor: unknown, click: () => void = () => undefined) {
  const isOpen = () => open === panel
  const close = () => {
    if (isOpen()) open = undefined
  }
  const panel = { kind, anchor, click, isOpen, close }
  open = panel
  return panel
}
vi.doMock('./panel.ts', () => ({
  showButton: (anchor: unknown, _label: string, click: () => void) =>
    openPanel('button', anchor, click),
  showBox: openPanel,
}))
let receive: (command: ContentCommand, sender: object, respond: (value: boolean) => void) => void
const globals = {
  HTMLElement: FakeElement,
  HTMLInputElement: FakeInput,
  InputEvent: Event,
  document: page,
  window: new EventTarget(),
  location: { href: 'https://www.shop.test/sign-up' },
  chrome: {
    runtime: {
      onMessage: {
        addListener(listener: typeof receive) {
          receive = listener
        },
      },
      sendMessage: ({ type }: { type: string }) => {
        requests.push(type)
        if (type === 'page-state') return Promise.resolve({ value: { isAllowed, offer: null } })
        return new Promise((resolve) => {
          respond = resolve
        })
      },
    },
    i18n: { getMessage: (name: string) => name },
  },
}
for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
vi.stubGlobal('top', globals.window)
// Another file may have loaded them with its own browser.
vi.resetModules()
await import('./content.ts')
afterAll(() => {
  vi.unstubAllGlobals()
  vi.doUnmock('./panel.ts')
})

beforeEach(() => {
  for (const input of [email, password]) Object.assign(input, { value: '', isConnected: true })
  page.activeElement = null
  open = undefined
})

function run(command: ContentCommand): boolean | undefined {
  let response: boolean | undefined
  receive(command, {}, (value) => {
    response = value
  })
  return response
}

test('a prerendered page asks for nothing until it is shown', () => {
  expect(requests).toEqual([])
  page.dispatchEvent(new Event('prerenderingchange'))
  expect(requests).toEqual(['page-state'])
})

const FILL = { type: 'fill', site: 'shop.test', email: 'a@mail.test' } as const

test('the field that was found is filled, whatever has the focus by then', () => {
  email.focus()
  expect(run({ type: 'find', site: 'shop.test', isHere: true })).toBe(true)
  password.focus()
  expect(run(FILL)).toBe(true)
  expect([email.value, password.value]).toEqual(['a@mail.test', ''])
})

test.each([
  ['in which something was typed meanwhile', { value: 'me@shop.test' }],
  ['that is for something else by now', { type: 'password' }],
])('a field %s is not filled', (_, change) => {
  email.focus()
  run({ type: 'find', site: 'shop.test', isHere: true })
  Object.assign(email, change)
  const { value } = email
  expect(run(FILL)).toBe(false)
  expect(email.value).toBe(value)
  email.type = 'email'
})

test('no other kind of field is filled if the one that was found is gone', () => {
  email.focus()
  run({ type: 'find', site: 'shop.test', isHere: true })
  email.isConnected = false
  password.focus()
  expect(run(FILL)).toBe(false)
  expect(password.value).toBe('')
})

const OFFER = { id: 'a', code: '1234', link: null, sender: 'shop.test', badge: 'proven' } as const

test('what is meant for another site is refused', () => {
  const other = 'other.test'
  for (const command of [
    { type: 'find', site: other },
    { ...FILL, site: other },
    { type: 'fill-code', site: other, code: '1234' },
    { type: 'offer', site: other, offer: { ...OFFER, messageId: 9 } },
  ] as const) {
    expect(run(command)).toBe(false)
  }
  expect([email.value, password.value]).toEqual(['', ''])
  expect(open).toBeUndefined()
})

test('an offer ends with its own message, or with its address', () => {
  vi.useFakeTimers()
  run({ type: 'offer', site: 'shop.test', offer: { ...OFFER, messageId: 9 } })
  run({ type: 'end-offer', id: 'a', messageId: 8 })
  run({ type: 'end-offer', id: 'b' })
  expect(open?.kind).toBe('code')
  run({ type: 'end-offer', id: 'a', messageId: 9 })
  expect(open).toBeUndefined()
  run({ type: 'offer', site: 'shop.test', offer: { ...OFFER, messageId: 10 } })
  run({ type: 'end-offer', id: 'a' })
  expect(open).toBeUndefined()
  vi.useRealTimers()
})

test('a page from the cache of the browser ends an offer that is over by now', async () => {
  run({ type: 'offer', site: 'shop.test', offer: { ...OFFER, messageId: 9 } })
  expect(open?.kind).toBe('code')
  globals.window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  await vi.waitUntil(() => open?.kind !== 'code')
})

test('a button that the page has removed comes back with the focus', async () => {
  isAllowed = true
  email.focus()
  run({ type: 'reload-state' })
  await vi.waitUntil(() => open?.kind === 'button')
  open = undefined
  page.dispatchEvent(new Event('focusin'))
  expect(open).toMatchObject({ kind: 'button' })
})

test('what was typed while the address was created stays, and a note names the address', async () => {
  isAllowed = true
  email.focus()
  run({ type: 'reload-state' })
  await vi.waitUntil(() => open?.kind === 'button')
  open?.click()
  email.value = 'me@shop.test'
  respond({ value: 'a@mail.test' })
  await vi.waitUntil(() => open?.kind === 'note')
  expect(email.value).toBe('me@shop.test')
})

test('the button comes back neither while its address is created nor in place of a note', async () => {
  isAllowed = true
  email.focus()
  run({ type: 'reload-state' })
  await vi.waitUntil(() => open?.kind === 'button')
  open?.click()
  page.dispatchEvent(new Event('focusin'))
  expect(open).toBeUndefined()
  respond({ error: 'error_away' })
  await vi.waitUntil(() => open)
  page.dispatchEvent(new Event('focusin'))
  expect(open?.kind).toBe('note')
  const other = new FakeInput('email')
  other.focus()
  page.dispatchEvent(new Event('focusin'))
  expect(open).toMatchObject({ kind: 'button', anchor: other })
})

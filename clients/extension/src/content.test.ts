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
let receive: (command: ContentCommand, sender: object, respond: (value: boolean) => void) => void
const globals = {
  HTMLElement: FakeElement,
  HTMLInputElement: FakeInput,
  InputEvent: Event,
  document: page,
  window: {},
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
        return Promise.resolve({ value: { isAllowed: false, offer: null } })
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
afterAll(() => vi.unstubAllGlobals())

beforeEach(() => {
  for (const input of [email, password]) Object.assign(input, { value: '', isConnected: true })
  page.activeElement = null
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

test('no other kind of field is filled if the one that was found is gone', () => {
  email.focus()
  run({ type: 'find', site: 'shop.test', isHere: true })
  email.isConnected = false
  password.focus()
  expect(run(FILL)).toBe(false)
  expect(password.value).toBe('')
})

test('what is meant for another site is refused', () => {
  const other = 'other.test'
  for (const command of [
    { type: 'find', site: other },
    { ...FILL, site: other },
    { type: 'fill-code', site: other, code: '1234' },
  ] as const) {
    expect(run(command)).toBe(false)
  }
  expect([email.value, password.value]).toEqual(['', ''])
})

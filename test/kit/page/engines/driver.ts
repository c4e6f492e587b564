import { createServer } from 'node:net'
import { waitUntil } from '../../wait-until.ts'

/** One tab of a browser, with what all three engines can do. */
export interface Driver {
  goto(url: string): Promise<void>
  /** The value of an expression, as JSON. Promises are awaited. */
  evaluate(expression: string): Promise<unknown>
  /** Clicks the middle of the element that the expression returns. */
  click(expression: string): Promise<void>
  /** Clicks a point of the viewport. Button 2 is the right one, in Firefox only. */
  clickAt(x: number, y: number, button?: 0 | 2): Promise<void>
  /** Presses keys one after another, in whatever has the focus. */
  press(keys: readonly Key[]): Promise<void>
  /** The visible text of a frame, which may be of another origin and without scripts. */
  frameText(selector: string): Promise<string>
  /** What the browser would print, as PDF; undefined in WebKit. */
  pdf(): Promise<Buffer | undefined>
  screenshot(): Promise<Buffer>
  close(): Promise<void>
}

/** One character, or the name of a key as in KeyboardEvent.key; `Control+p` holds the first. */
export type Key = string

export interface Engine {
  /** A tab of 1280 × 800 without stored data. */
  open(): Promise<Driver>
  /** Everything that any tab did and a mail must not make it do. */
  seen: Seen
  close(): Promise<void>
}

export interface Seen {
  /** The first line of each request to another host than this machine. */
  requests: string[]
  /** Dialogs, which no script of ours opens. In WebKit the next command fails. */
  dialogs: string[]
  /** Uncaught errors of scripts, not in WebKit. */
  errors: string[]
}

const EMPTY_PAGE =
  'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'
const LAST = 'http://last.test/'
/** Of the tests, and what Firefox and Chromium ask for whatever their settings say. */
const OWN_REQUEST =
  /^(?:GET http:\/\/last\.test\/|(?:CONNECT |POST http:\/\/)[\w.-]+\.(?:mozilla\.(?:com|net|org)|google(?:apis)?\.com|gvt1\.com)[:/])/

/** All earlier requests of the tab have been recorded when this resolves. */
export const flush = (driver: Driver): Promise<void> => driver.goto(LAST)

export const WINDOW = { width: 1280, height: 800 }

/** Starts the browser with a proxy that records what it is asked for and never forwards it. Requests to this machine do not use it. */
export type StartEngine<Started extends Engine = Engine> = (
  proxyPort: number,
  seen: Seen,
) => Promise<Omit<Started, 'seen'>>

export async function openEngine<Started extends Engine = Engine>(
  start: StartEngine<Started>,
): Promise<Omit<Started, 'seen'> & Pick<Engine, 'seen' | 'close'>> {
  const seen: Seen = { requests: [], dialogs: [], errors: [] }
  const proxy = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', (bytes) => {
      const line = bytes.toString('latin1').split('\r\n')[0] ?? ''
      if (!OWN_REQUEST.test(line)) seen.requests.push(line)
      socket.end(EMPTY_PAGE)
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const engine = await start(address.port, seen)
  return {
    ...engine,
    seen,
    async close() {
      await engine.close()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

/** Run in the page: the first visible element that matches the selector, and whose name or text contains these words. */
const FIND = `(selector, words) => [...document.querySelectorAll(selector)].find((one) => {
  const { width, height } = one.getBoundingClientRect()
  if (width * height === 0 || !one.checkVisibility({ visibilityProperty: true })) return false
  const names = [one.getAttribute('aria-label'), one.title, one.textContent, ...[...one.labels ?? []].map((label) => label.textContent)]
  return names.some((name) => name?.includes(words))
}) ?? null`

/** Chromium reports that another document has replaced the one that was asked. */
function falseIfNavigating(error: Error): boolean {
  if (!error.message.includes('Execution context was destroyed')) throw error
  return false
}

/** A visitor, who finds things by a selector and by words of their name or text. */
export function visitor(driver: Driver) {
  const find = (selector: string, words: string) =>
    `(${FIND})(${JSON.stringify(selector)}, ${JSON.stringify(words)})`
  const has = async (selector: string, words = ''): Promise<boolean> =>
    (await driver.evaluate(`${find(selector, words)} !== null`).catch(falseIfNavigating)) === true
  const wait = async (isTrue: () => Promise<boolean>, fault: string) => {
    await waitUntil(isTrue).catch(async (cause) => {
      const text = await driver.evaluate('document.body?.innerText')
      throw new Error(`${fault} in: ${text}`, { cause })
    })
  }
  const see = (selector: string, words = '') =>
    wait(() => has(selector, words), `no ${selector} “${words}”`)
  const click = async (selector: string, words = '') => {
    await see(selector, words)
    await driver.click(find(selector, words))
  }
  return {
    ...driver,
    has,
    see,
    click,
    async gone(selector: string, words = '') {
      await wait(async () => !(await has(selector, words)), `${selector} “${words}”`)
    },
    async fill(selector: string, text: string, words = '') {
      await click(selector, words)
      await driver.evaluate('void document.activeElement.select()')
      await driver.press(text === '' ? ['Backspace'] : [...text])
    },
    async text(selector: string): Promise<string> {
      await see(selector)
      return String(await driver.evaluate(`(${find(selector, '')}).innerText`))
    },
    async seeInFrame(selector: string, words: string) {
      await see(selector)
      await waitUntil(async () => (await driver.frameText(selector)).includes(words))
    },
  }
}

export type Visitor = ReturnType<typeof visitor>

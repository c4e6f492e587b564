import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../programs/programs.ts'
import { freePort, startServer } from '../../programs/server-process.ts'
import { tempFolder } from '../../store/stores.ts'
import { type Bidi, connectBidi } from './bidi.ts'
import { type Driver, type Seen, type StartEngine, WINDOW } from './driver.ts'
import { keyActions } from './keys.ts'

export const startFirefox: StartEngine = async (proxyPort, seen) => {
  const { bidi, close } = await launchFirefox(proxyPort, seen)
  return { open: () => openTab(bidi), close }
}

interface FirefoxOptions {
  args?: readonly string[]
  preferences?: Record<string, Preference>
}

type Preference = string | number | boolean

export async function launchFirefox(
  proxyPort: number,
  seen: Seen,
  { args = [], preferences = {} }: FirefoxOptions = {},
) {
  const port = await freePort()
  const profile = tempFolder()
  const all = { ...basicPreferences(proxyPort), ...preferences }
  writeFileSync(join(profile.path, 'user.js'), preferenceFile(all))
  const basic = ['--headless', '--no-remote', '--profile', profile.path]
  const browser = await startServer({
    command: [
      ...[program('firefox-esr'), ...basic, ...args],
      ...['--remote-debugging-port', String(port)],
    ],
    folder: profile.path,
    ready: /WebDriver BiDi listening on/,
  })
  const bidi = await connectBidi(`ws://127.0.0.1:${port}/session`, (method, params) =>
    record(seen, method, params),
  )
  await bidi.send('session.new', {
    capabilities: { alwaysMatch: { unhandledPromptBehavior: { default: 'dismiss' } } },
  })
  await bidi.send('session.subscribe', {
    events: ['log.entryAdded', 'browsingContext.userPromptOpened'],
  })
  return {
    bidi,
    async close() {
      const ended = new Promise((resolve) => browser.once('exit', resolve))
      await bidi.send('browser.close').catch(() => browser.kill('SIGKILL'))
      await ended
      profile.remove()
    },
  }
}

/** The remote agent itself switches off most of what a browser loads in the background. */
function basicPreferences(proxyPort: number): Record<string, Preference> {
  return {
    'network.proxy.type': 1,
    'network.proxy.http': '127.0.0.1',
    'network.proxy.http_port': proxyPort,
    'network.proxy.ssl': '127.0.0.1',
    'network.proxy.ssl_port': proxyPort,
    'ui.prefersReducedMotion': 1,
  }
}

function preferenceFile(values: Record<string, Preference>): string {
  const lines = Object.entries(values).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  )
  return lines.join('')
}

function record(seen: Seen, method: string, params: Record<string, unknown>): void {
  const { type, level, text, message } = params
  if (method === 'browsingContext.userPromptOpened') seen.dialogs.push(String(message))
  // What a policy or the browser blocks is no fault.
  const isBlocked = /^(?:Content-Security-Policy|Security Error):/.test(`${text}`)
  if (type !== 'javascript' || level !== 'error' || isBlocked) return
  seen.errors.push(String(text))
}

export async function openTab(bidi: Bidi): Promise<Driver> {
  const { userContext } = await bidi.send('browser.createUserContext')
  const { context } = await bidi.send('browsingContext.create', { type: 'tab', userContext })
  await bidi.send('browsingContext.setViewport', { context, viewport: WINDOW })
  const perform = (actions: object) =>
    bidi.send('input.performActions', { context, actions: [actions] })
  const clickAt = async (
    x: number,
    y: number,
    button = 0,
    origin: object | 'viewport' = 'viewport',
  ) => {
    const actions = [
      { type: 'pointerMove', x: Math.floor(x), y: Math.floor(y), origin },
      { type: 'pointerDown', button },
      { type: 'pointerUp', button },
    ]
    await perform({ type: 'pointer', id: 'mouse', actions })
  }
  return {
    async goto(url) {
      await bidi.send('browsingContext.navigate', { context, url, wait: 'complete' })
    },
    evaluate: (expression) => evaluate(bidi, { context }, expression),
    async click(expression) {
      const found = `(() => {
        const found = ${expression}
        found.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
        return found
      })()`
      const { sharedId } = (await call(bidi, { context }, found)) as { sharedId: string }
      await clickAt(0, 0, 0, { type: 'element', element: { sharedId } })
    },
    clickAt: (x, y, button) => clickAt(x, y, button),
    press: async (keys) => void (await perform(keyActions(keys))),
    async frameText(selector) {
      const found = `document.querySelector(${JSON.stringify(selector)}).contentWindow`
      const { value } = (await call(bidi, { context }, found)) as { value: { context: string } }
      // Not as a script of the frame, which has none.
      const inFrame = { context: value.context, sandbox: 'reading' }
      return String(await evaluate(bidi, inFrame, 'document.body?.innerText'))
    },
    pdf: async () => bytesOf(await bidi.send('browsingContext.print', { context })),
    screenshot: async () =>
      bytesOf(await bidi.send('browsingContext.captureScreenshot', { context })),
    close: async () => void (await bidi.send('browser.removeUserContext', { userContext })),
  }
}

const bytesOf = ({ data }: Record<string, unknown>) => Buffer.from(String(data), 'base64')

export async function evaluate(bidi: Bidi, target: object, expression: string): Promise<unknown> {
  const asText = `(async () => JSON.stringify(await (${expression})) ?? 'null')()`
  const { value } = (await call(bidi, target, asText)) as { value: string }
  return JSON.parse(value)
}

async function call(bidi: Bidi, target: object, expression: string): Promise<unknown> {
  const { type, result, exceptionDetails } = await bidi.send('script.evaluate', {
    expression,
    target,
    awaitPromise: true,
    userActivation: true,
  })
  if (type === 'success') return result
  throw new Error(`${JSON.stringify(exceptionDetails)} in ${expression}`)
}

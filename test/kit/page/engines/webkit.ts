import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../programs/programs.ts'
import { endWithParent, freePort } from '../../programs/server-process.ts'
import { tempFolder } from '../../store/stores.ts'
import { waitUntil } from '../../wait-until.ts'
import { type Driver, type StartEngine, WINDOW } from './driver.ts'
import { keyActions } from './keys.ts'

// Longer than a batch of hostile mails takes, which is one script, and shorter than a test may take: what hangs is named.
const SCRIPT_MS = 240_000
const COMMAND_MS = 260_000

export const startWebKit: StartEngine = async (proxyPort) => {
  const folder = tempFolder()
  const display = startProgram([program('Xvfb'), '-displayfd', '1', '-nolisten', 'tcp'], {})
  const [number] = (await once(display.stdout ?? display, 'data')) as [Buffer]
  const port = await freePort()
  const driver = startProgram([program('WebKitWebDriver'), `--port=${port}`], {
    DISPLAY: `:${String(number).trim()}`,
    HOME: folder.path,
    GDK_BACKEND: 'x11',
    GSETTINGS_BACKEND: 'memory',
    NO_AT_BRIDGE: '1',
    // In the locale C the language of the browser is "C", which is none.
    LC_ALL: 'en_US.UTF-8',
  })
  const url = `http://127.0.0.1:${port}`
  await waitUntil(() =>
    fetch(`${url}/status`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  const browser = join(folder.path, 'browser')
  const command = endWithParent([program('MiniBrowser')]).join(' ')
  writeFileSync(browser, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 })
  const proxy = [`--proxy=http://127.0.0.1:${proxyPort}`, '--ignore-host=127.0.0.1']
  const options = { binary: browser, args: ['--automation', ...proxy] }
  return {
    open: () => openSession(url, { 'webkitgtk:browserOptions': options }),
    async close() {
      for (const child of [driver, display]) {
        child.kill()
        await once(child, 'exit')
      }
      folder.remove()
    },
  }
}

function startProgram(command: readonly string[], env: Record<string, string>): ChildProcess {
  const [file = '', ...args] = endWithParent(command)
  return spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

/** A session of WebDriver, which is one browser: https://www.w3.org/TR/webdriver2/ */
async function openSession(url: string, capabilities: object): Promise<Driver> {
  const { sessionId } = (await send(`${url}/session`, {
    capabilities: { alwaysMatch: capabilities },
  })) as { sessionId: string }
  const post = (path: string, body: object = {}) =>
    send(`${url}/session/${sessionId}/${path}`, body)
  const get = (path: string) => send(`${url}/session/${sessionId}/${path}`)
  const run = (expression: string) =>
    post('execute/sync', { script: `return ${expression}`, args: [] })
  const clickAt = async (x: number, y: number) => {
    const actions = [
      { type: 'pointerMove', x: Math.floor(x), y: Math.floor(y) },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ]
    await post('actions', { actions: [{ type: 'pointer', id: 'mouse', actions }] })
  }
  await post('timeouts', { script: SCRIPT_MS })
  await post('window/rect', WINDOW)
  return {
    goto: async (to) => void (await post('url', { url: to })),
    async evaluate(expression) {
      const script = `const done = arguments[0]
        Promise.resolve().then(() => ${expression}).then(
          (value) => done({ text: JSON.stringify(value) ?? 'null' }),
          (fault) => done({ fault: String(fault) }),
        )`
      const { text, fault } = (await post('execute/async', { script, args: [] })) as {
        text: string
        fault?: string
      }
      if (fault !== undefined) throw new Error(`${fault} in ${expression}`)
      return JSON.parse(text)
    },
    async click(expression) {
      // The driver itself finds some visible elements not interactable.
      const [x, y] = (await run(`(() => {
        const found = ${expression}
        found.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
        const { left, top, width, height } = found.getBoundingClientRect()
        return [left + width / 2, top + height / 2]
      })()`)) as [number, number]
      await clickAt(x, y)
    },
    clickAt,
    press: async (keys) => void (await post('actions', { actions: [keyActions(keys)] })),
    async frameText(selector) {
      await post('frame', { id: await run(`document.querySelector(${JSON.stringify(selector)})`) })
      try {
        return String(await run('document.body?.innerText'))
      } finally {
        await post('frame', { id: null })
      }
    },
    // The driver has no such command.
    pdf: async () => undefined,
    screenshot: async () => Buffer.from(String(await get('screenshot')), 'base64'),
    close: async () => void (await send(`${url}/session/${sessionId}`, undefined, 'DELETE')),
  }
}

async function send(url: string, body?: object, method = body ? 'POST' : 'GET'): Promise<unknown> {
  const signal = AbortSignal.timeout(COMMAND_MS)
  const init = { method, signal, ...(body ? { body: JSON.stringify(body) } : {}) }
  const response = await fetch(url, init).catch((cause: Error) => {
    throw new Error(`no response to ${method} ${new URL(url).pathname}`, { cause })
  })
  const { value } = (await response.json()) as {
    value: { error?: string; message?: string } | null
  }
  if (response.ok) return value
  throw new Error(`${value?.error}: ${value?.message}`)
}

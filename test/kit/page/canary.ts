import { createServer } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from './browser.ts'

/** The host that hostile mails point at: it never responds and records every connection. */
export interface Canary {
  browser: Browser
  /** The first line of each request, from any page. Empty for a connection without a request. */
  requests: string[]
  /** A page whose scripts, requests, windows and navigations are recorded. */
  watch(context: BrowserContext, home: string): Promise<Observed>
  /** Resolves when all pending requests have been recorded: it sends a last one and waits for it. */
  flush(): Promise<void>
  close(): Promise<void>
}

export interface Observed {
  page: Page
  /** Scripts that ran, by the name of their frame. */
  ran: string[]
  /** Requests to other hosts than the service. */
  requested: string[]
  /** Windows opened, and navigations of the page itself. */
  left: string[]
  /** Messages logged by the browser. */
  logged: string[]
}

/** A browser in which every host but the service resolves to one recording server. */
export async function openCanary(hosts: readonly string[]): Promise<Canary> {
  const requestLines: string[] = []
  const server = createServer((socket) => {
    const at = requestLines.push('') - 1
    socket.on('error', () => socket.destroy())
    socket.once('data', (bytes) => {
      requestLines[at] = bytes.toString('latin1').split('\r\n')[0] ?? ''
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const rules = hosts.map((host) => `MAP ${host} 127.0.0.1:${port}`)
  // Background requests of the browser are not answered.
  const all = [...rules, 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1'].join(', ')
  const browser = await launchBrowser([`--host-resolver-rules=${all}`])

  return {
    browser,
    requests: requestLines,
    watch: (context, home) => watch(context, home),
    async flush() {
      const context = await browser.newContext()
      const page = await context.newPage()
      await page.evaluate(`fetch('http://${hosts[0]}/last', { mode: 'no-cors' })`)
      await context.close()
      const last = requestLines.findLastIndex((line) => line.startsWith('GET /last '))
      requestLines.splice(last, 1)
    },
    async close() {
      await browser.close()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function watch(context: BrowserContext, home: string): Promise<Observed> {
  const [ran, requested, left, logged] = [[], [], [], []] as [
    string[],
    string[],
    string[],
    string[],
  ]
  const page = await context.newPage()
  context.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${home}/`) && !/^(data|blob|about):/.test(url)) requested.push(url)
  })
  context.on('page', (other) => left.push(`a window: ${other.url()}`))
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame() && !frame.url().startsWith(`${home}/`)) left.push(frame.url())
  })
  page.on('dialog', (dialog) => {
    ran.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'info' || IGNORED.test(text)) ran.push(text)
    else if (['error', 'warning'].includes(message.type())) logged.push(text)
  })
  page.on('pageerror', ({ message }) => logged.push(message))
  return { page, ran, requested, left, logged }
}

// What a frame that may run scripts but open no dialogs logs for an alert().
const IGNORED = /^Ignored call to '(?:alert|confirm|prompt|print)/

/** How a payload says that it ran, with its number: by a log message. Its arguments follow. */
export const logged = (number: number): string => `console.info(${number},`

/** By a message to the page, for a browser whose log the tests do not see. It contains no quotes, which could end an attribute. */
export const posted = (number: number): string =>
  `top.postMessage(${number},String.fromCharCode(42))||(`

/** The payload with alert(), which a frame may not show, replaced by what says that it ran. */
export function withCanary(payload: string, number: number, canary = logged): string {
  return payload.replaceAll('alert(', canary(number)).replaceAll(/\balert\b(?!,)/g, 'console.info')
}

/** Every host named in the payloads. */
export function hostsIn(payloads: readonly string[]): string[] {
  const found = payloads.flatMap((payload) => [
    ...payload.matchAll(/[/\\]{2}([a-z\d.-]+\.[a-z]{1,6})\b/gi),
  ])
  return [...new Set(found.map(([, host = '']) => host.toLowerCase()))].filter(
    (host) => !/(?:google|googleapis)\.com$/.test(host),
  )
}

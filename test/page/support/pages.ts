import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type App, startApp } from '../../support/app.ts'
import { tempFolder } from '../../support/stores.ts'
import { sharedBrowser } from './browser.ts'

export interface Pages {
  app(): App
  browser(): Browser
  /** A page in a new browser context: nothing is stored from one visit to the next. */
  visit(path: string, options?: BrowserContextOptions): Promise<Page>
  /** Another tab in the same browser context: both share its storage. */
  newTab(page: Page, path: string): Promise<Page>
  /** Browser messages and other origins that this test allows. */
  allow(allowed: { complaint?: RegExp; origin?: string }): void
}

/** For tests that change the state of the whole server, such as its clock. */
export const OWN_SERVER: Record<string, string> = {}

/**
 * Pages of the service in a real browser. A file with its own settings gets its own server. After each test:
 * every request went to our own origin, no URL contained a token, and the browser logged no error.
 */
export function openPages(env?: Record<string, string>): Pages {
  let app: App
  let browser: Browser
  let seen = emptyTraffic()
  let allowed: { complaint?: RegExp; origin?: string } = {}

  beforeAll(async () => {
    app = await (env ? startApp({ env }) : sharedApp())
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    if (env) await app.stop()
  })
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
    const [{ requested, complaints, tokens }, { complaint, origin }] = [seen, allowed]
    seen = emptyTraffic()
    allowed = {}
    assert.deepEqual(
      complaints.filter((text) => !complaint?.test(text)),
      [],
    )
    assert.ok(requested.length > 0, 'the test opened no page')
    for (const url of requested) {
      const { origin: requestOrigin } = new URL(url)
      assert.ok(requestOrigin === app.url || requestOrigin === origin, `asked ${url}`)
      for (const token of tokens) assert.ok(!url.includes(token), 'a token stood in an address')
    }
  })

  return {
    app: () => app,
    browser: () => browser,
    async visit(path, options = {}) {
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
      recordTraffic(context, seen)
      const page = await context.newPage()
      await page.goto(`${app.url}${path}`)
      return page
    },
    async newTab(page, path) {
      const other = await page.context().newPage()
      await other.goto(`${app.url}${path}`)
      return other
    },
    allow(more) {
      allowed = { ...allowed, ...more }
    },
  }
}

let shared: Promise<App> | undefined

/** One server for all files that run in this process; it stops with the process. */
function sharedApp(): Promise<App> {
  shared ??= startSharedApp()
  return shared
}

async function startSharedApp(): Promise<App> {
  const folder = tempFolder()
  for (const event of ['exit', 'SIGTERM']) process.once(event, folder.remove)
  return await startApp({ folder })
}

/** The requests of the pages of a browser context, the secrets they sent, and what the browser logged. */
export type Traffic = ReturnType<typeof emptyTraffic>

export function emptyTraffic() {
  return { requested: [] as string[], tokens: [] as string[], complaints: [] as string[] }
}

/** Monitors all pages of a context, including those opened by links. */
export function recordTraffic(
  context: BrowserContext,
  { requested, tokens, complaints }: Traffic,
): void {
  context.on('request', (request) => {
    const url = request.url()
    if (/^(data|blob|about):/.test(url)) return
    // The server does not see the fragment.
    requested.push(url.replace(/#.*/, ''))
    const { authorization = '', apikey = '', 'claim-secret': claim = '' } = request.headers()
    const given = [authorization.replace(/^Bearer /, ''), apikey, claim]
    tokens.push(...given.filter((secret) => secret !== ''))
  })
  context.on('weberror', (fault) => complaints.push(fault.error().message))
  context.on('console', (message) => {
    const { url } = message.location()
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.text()} ${url}`)
  })
}

/** Fails with the accessibility violations that axe finds in the page or in one part of it. */
export async function checkAccessibility(page: Page, within = 'html'): Promise<void> {
  // Not as a script of the page, which its policy would block.
  await page.evaluate(axe.source)
  // The frame of a mail allows no script, not even this one.
  const script = `axe.run('${within}', { iframes: false })`
  const { violations } = (await page.evaluate(script)) as axe.AxeResults
  const summary = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`,
  )
  assert.deepEqual(summary, [])
}

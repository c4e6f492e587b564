import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import type axe from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type App, sharedApp, startApp } from '../app/app.ts'
import { sharedBrowser } from './browser.ts'

export interface Pages {
  app(): App
  browser(): Browser
  /** A page without stored data, in a browser context that no other page of this test shares. */
  visit(path: string, options?: BrowserContextOptions): Promise<Page>
  /**
   * The same with a clock that `page.clock` controls. If the clock were installed after the visit, the page would see the year
   * 1970 until that is done; an address created meanwhile would then be long expired.
   */
  visitWithClock(path: string, options?: BrowserContextOptions): Promise<Page>
  /** Another tab in the same browser context: both share its storage. */
  newTab(page: Page, path: string): Promise<Page>
  /** Browser messages and other origins that this test allows. */
  allow(allowed: Allowed): void
}

interface Allowed {
  /** Allowed messages of the browser from now on. */
  complaint?: RegExp | undefined
  /** Besides those that were allowed before. */
  origin?: string
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
  let opened: Visit[] = []
  let idle: Visit[] = []
  let seen = emptyTraffic()
  let allowed: Allowed = {}
  let origins: string[] = []
  const complaints: string[] = []
  const judgeComplaints = () => {
    const logged = seen.complaints.splice(0)
    complaints.push(...logged.filter((text) => !allowed.complaint?.test(text)))
  }

  beforeAll(async () => {
    app = await (env ? startApp({ env }) : sharedPageApp())
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
    if (env) await app.stop()
  })
  afterEach(async () => {
    const reset = await Promise.all(opened.map((visit) => resetVisit(visit, app.url)))
    idle.push(...opened.filter((_, at) => reset[at]))
    opened = []
    const kept = idle.map(({ page }) => page.context())
    const others = browser.contexts().filter((context) => !kept.includes(context))
    await Promise.all(others.map((context) => context.close()))
    judgeComplaints()
    const [{ requested, tokens }, allowedOrigins] = [seen, [app.url, ...origins]]
    seen = emptyTraffic()
    allowed = {}
    origins = []
    expect(complaints.splice(0)).toStrictEqual([])
    expect(requested.length, 'the test opened no page').toBeGreaterThan(0)
    for (const url of requested) {
      expect(allowedOrigins, `asked ${url}`).toContain(new URL(url).origin)
      for (const token of tokens) expect(url, 'a token stood in an address').not.toContain(token)
    }
  })

  const openBlank = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const key = JSON.stringify(options)
    const found = idle.find((visit) => visit.key === key)
    idle = idle.filter((visit) => visit !== found)
    const visit = found ?? { key, ...(await newVisit(browser, options, () => seen)) }
    opened.push(visit)
    return visit.page
  }

  return {
    app: () => app,
    browser: () => browser,
    async visit(path, options) {
      const page = await openBlank(options)
      await page.goto(`${app.url}${path}`)
      return page
    },
    async visitWithClock(path, options) {
      const page = await openBlank(options)
      await page.clock.install()
      await page.goto(`${app.url}${path}`)
      return page
    },
    async newTab(page, path) {
      const other = await page.context().newPage()
      await other.goto(`${app.url}${path}`)
      return other
    },
    allow(more) {
      judgeComplaints()
      allowed = { ...allowed, ...more }
      if (more.origin) origins.push(more.origin)
    },
  }
}

/** A page that `visit` returned. A later visit with the same options reuses it: a new one costs twice as much CPU time. */
interface Visit {
  key: string
  page: Page
  options: BrowserContextOptions
  isReusable(): boolean
  /** Removes listeners, and restores the size. */
  undo(): Promise<void>
}

async function newVisit(
  browser: Browser,
  options: BrowserContextOptions,
  traffic: () => Traffic,
): Promise<Omit<Visit, 'key'>> {
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    // Routes of a test do not see the requests of a service worker.
    serviceWorkers: 'block',
    ...options,
  })
  context.setDefaultTimeout(60_000)
  recordTraffic(context, traffic)
  const page = await context.newPage()
  let reusable = true
  const spoil = () => {
    reusable = false
  }
  page.once('crash', spoil)
  page.once('close', spoil)
  // Scripts added to every document cannot be removed, and the clock is one of them.
  for (const owner of [context, page])
    owner.addInitScript = calling(spoil, owner.addInitScript, owner)
  context.clock.install = calling(spoil, context.clock.install, context.clock)
  const size = page.viewportSize()
  return {
    page,
    options,
    isReusable: () => reusable,
    async undo() {
      for (const event of EVENTS)
        for (const owner of [context, page]) owner.removeAllListeners(event)
      recordTraffic(context, traffic)
      if (size && !isDeepStrictEqual(size, page.viewportSize())) await page.setViewportSize(size)
    },
  }
}

/** Tests listen to these; the library itself to none of them. */
const EVENTS = 'console dialog framenavigated page pageerror request response weberror'.split(' ')

function calling<Args extends unknown[], Result>(
  first: () => void,
  method: (...args: Args) => Result,
  owner: unknown,
): (...args: Args) => Result {
  return (...args) => {
    first()
    return method.apply(owner, args)
  }
}

/** Removes everything that a test did to this page, if that is possible. */
async function resetVisit(visit: Visit, url: string): Promise<boolean> {
  const { page, options, isReusable } = visit
  if (!isReusable() || !page.url().startsWith(`${url}/`)) return false
  const context = page.context()
  const others = context.pages().filter((tab) => tab !== page)
  try {
    await Promise.all(others.map((tab) => tab.close()))
    if (options.javaScriptEnabled !== false) await page.evaluate(CLEAR_STORAGE)
    await page.goto('about:blank')
    await Promise.all([
      context.clearCookies(),
      context.unrouteAll({ behavior: 'ignoreErrors' }),
      page.unrouteAll({ behavior: 'ignoreErrors' }),
      context.setOffline(false),
      page.emulateMedia({ colorScheme: options.colorScheme ?? 'light' }),
      page.mouse.move(-1, -1),
      visit.undo(),
    ])
    return isReusable()
  } catch {
    // The test ended during a navigation: the page is closed instead.
    return false
  }
}

// A page may store something while it is left.
const CLEAR_STORAGE = `
  localStorage.clear()
  sessionStorage.clear()
  Storage.prototype.setItem = () => {}
`

/** With the default settings, as a browser on this machine sees it. */
export const sharedPageApp = (): Promise<App> => sharedApp({})

/** The requests of the pages of a browser context, the secrets they sent, and what the browser logged. */
export type Traffic = ReturnType<typeof emptyTraffic>

export function emptyTraffic() {
  return { requested: [] as string[], tokens: [] as string[], complaints: [] as string[] }
}

/** Monitors all pages of a context, including those opened by links. */
export function recordTraffic(context: BrowserContext, traffic: () => Traffic): void {
  context.on('request', (request) => {
    const { requested, tokens } = traffic()
    const url = request.url()
    if (/^(data|blob|about):/.test(url)) return
    // The server does not see the fragment.
    requested.push(url.replace(/#.*/, ''))
    const { authorization = '', apikey = '', 'claim-secret': claim = '' } = request.headers()
    const given = [authorization.replace(/^Bearer /, ''), apikey, claim]
    tokens.push(...given.filter((secret) => secret !== ''))
  })
  context.on('weberror', (fault) => traffic().complaints.push(fault.error().message))
  context.on('console', (message) => {
    const { url } = message.location()
    if (message.text() === 'Service Worker registration blocked by Playwright') return
    if (['error', 'warning'].includes(message.type())) {
      traffic().complaints.push(`${message.text()} ${url}`)
    }
  })
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Fails with the accessibility violations that axe finds in the page or in one part of it, except of these rules. */
export async function checkAccessibility(
  page: Page,
  within = 'html',
  except: readonly string[] = [],
): Promise<void> {
  // Not as a script of the page, which its policy would block.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(AXE)
  const rules = Object.fromEntries(except.map((rule) => [rule, { enabled: false }]))
  // The frame of a mail allows no script, not even this one. What passes is not even described: it is a lot. Style sheets are
  // loaded only for rules that are off, and there is no video to load.
  const loads = { iframes: false, preload: false }
  const options = JSON.stringify({ ...loads, resultTypes: ['violations'], rules })
  const script = `axe.run('${within}', ${options}).then(({ violations }) => violations)`
  const violations = (await page.evaluate(script)) as axe.Result[]
  const summary = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`,
  )
  expect(summary).toStrictEqual([])
}

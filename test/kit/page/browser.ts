import { type Browser, chromium } from 'playwright-core'
import { program } from '../programs/programs.ts'

export const BROWSER_ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Chromium without background requests of its own. */
export async function launchBrowser(more: string[] = []): Promise<Browser> {
  return await chromium.launch({
    executablePath: program('chromium-headless-shell'),
    args: [...BROWSER_ARGS, ...more],
  })
}

let shared: Promise<Browser> | undefined

/** One browser for all files that run in this process; it is closed with the process. Tests close their pages or contexts. */
export async function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser()
  return await shared
}

/** The screen sizes that pages are checked at. */
export const PHONE = { width: 360, height: 740 }
export const DESKTOP = { width: 1280, height: 800 }
/** A window of 1280 × 1024 px at 400 %; also narrower than any phone. */
export const ZOOMED = { width: 320, height: 256 }
export const SCREENS = [
  { name: 'phone', ...PHONE },
  { name: 'desktop', ...DESKTOP },
] as const
export const SCHEMES = ['light', 'dark'] as const

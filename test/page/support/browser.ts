import { type Browser, chromium } from 'playwright-core'

/** Debian's Chromium, that asks nobody but the page it is given. */
export async function launchBrowser(more: string[] = []): Promise<Browser> {
  return await chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })
}

/** What the page is looked at with. */
export const SCREENS = [
  { name: 'phone', width: 360, height: 740 },
  { name: 'desktop', width: 1280, height: 800 },
] as const
export const SCHEMES = ['light', 'dark'] as const

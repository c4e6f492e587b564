import { type BrowserContext, chromium } from 'playwright-core'
import { program } from '../../programs/programs.ts'
import { tempFolder } from '../../store/stores.ts'
import { BROWSER_ARGS } from '../browser.ts'
import { drive, record } from '../engines/chromium.ts'
import { type StartEngine, WINDOW } from '../engines/driver.ts'
import { type ExtensionEngine, unpackExtension } from './engine.ts'

export interface ChromiumWithExtension extends ExtensionEngine {
  context: BrowserContext
}

interface ChromiumOptions {
  /** Hosts that the user has allowed. */
  hosts: readonly string[]
  language?: string
}

/** Debian's Chromium: the headless shell of the other tests has no extensions. */
export function startInChromium({
  hosts,
  language,
}: ChromiumOptions): StartEngine<ChromiumWithExtension> {
  return async (proxyPort, seen) => {
    const extension = await unpackExtension('chromium', hosts, language)
    const profile = tempFolder()
    const context = await chromium.launchPersistentContext(profile.path, {
      executablePath: program('chromium'),
      args: [
        ...BROWSER_ARGS,
        `--proxy-server=127.0.0.1:${proxyPort}`,
        `--disable-extensions-except=${extension.path}`,
        `--load-extension=${extension.path}`,
        // For Extensions.triggerAction, a click on the button of the toolbar.
        '--enable-unsafe-extension-debugging',
      ],
      // Of the defaults of the library.
      ignoreDefaultArgs: ['--disable-extensions'],
      viewport: WINDOW,
      reducedMotion: 'reduce',
    })
    context.setDefaultTimeout(60_000)
    const [running] = context.serviceWorkers()
    const worker = running ?? (await context.waitForEvent('serviceworker'))
    const { host } = new URL(worker.url())
    return {
      context,
      fileUrl: (path) => `chrome-extension://${host}/${path}`,
      async open() {
        const page = await context.newPage()
        record(page, seen)
        return { ...drive(page), close: () => page.close() }
      },
      async close() {
        await context.close()
        profile.remove()
        extension.remove()
      },
    }
  }
}

import type { StartEngine } from '../engines/driver.ts'
import { evaluate, launchFirefox, openTab } from '../engines/firefox.ts'
import { type ExtensionEngine, unpackExtension } from './engine.ts'

const ID = 'extension@mayfly-mail.example'
/** Where its pages are. Firefox invents one for each installation unless it knows one. */
const UUID = 'f2b5c3b8-6d6e-4c0e-9a44-2d7f1a0c9e11'

export interface FirefoxWithExtension extends ExtensionEngine {
  /** The value of an expression in the window around the pages, which has the menus. */
  inWindow(expression: string): Promise<unknown>
}

/** The extension as it is shipped. What it asks for is granted without a prompt, which no test could click. */
export const startInFirefox: StartEngine<FirefoxWithExtension> = async (proxyPort, seen) => {
  const extension = await unpackExtension('firefox', [])
  const { bidi, close } = await launchFirefox(proxyPort, seen, {
    // Else no page of an extension can be opened.
    args: ['--remote-allow-system-access'],
    preferences: {
      'extensions.webextOptionalPermissionPrompts': false,
      'extensions.webextensions.uuids': JSON.stringify({ [ID]: UUID }),
    },
  })
  const path = { type: 'path', path: extension.path }
  await bidi.send('webExtension.install', { extensionData: path })
  return {
    fileUrl: (file) => `moz-extension://${UUID}/${file}`,
    open: () => openTab(bidi),
    async inWindow(expression) {
      const { contexts } = await bidi.send('browsingContext.getTree', { 'moz:scope': 'chrome' })
      const [{ context } = {}] = contexts as { context?: string }[]
      return await evaluate(bidi, { context }, expression)
    },
    async close() {
      await close()
      extension.remove()
    },
  }
}

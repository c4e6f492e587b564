import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { build } from 'vite'
import { type Canary, type Observed, withCanary } from './canary.ts'

/** The layers between a mail and its reader. */
export interface Layers {
  purifier: boolean
  /** A string replaces the value of the sandbox attribute. */
  sandbox: boolean | string
  /** The policy of the page around the frame, which also has its own; undefined: neither has one. */
  policy: string | undefined
}

/** Displays each payload in its own frame, with only these layers. */
export async function renderWithLayers(
  { browser, watch, flush }: Canary,
  layers: Layers,
  payloads: readonly string[],
): Promise<Observed> {
  const server = await serveLayers(layers.policy)
  const context = await browser.newContext()
  try {
    const watched = await watch(context, server.url)
    const { page, left } = watched
    await page.goto(`${server.url}/`)
    for (let start = 0; start < payloads.length; start += AT_ONCE) {
      const some = payloads
        .slice(start, start + AT_ONCE)
        .map((html, at) => withCanary(html, start + at))
      try {
        await page.evaluate(`showAll(${JSON.stringify(some)}, ${JSON.stringify(layers)})`)
      } catch (cause) {
        // The page has navigated: there is nothing left to display.
        await page.waitForURL((url) => url.origin !== server.url)
        if (left.length === 0) throw cause
        break
      }
    }
    await flush()
    return watched
  } finally {
    await context.close()
    await server.close()
  }
}

const AT_ONCE = 25

interface SanitiseOptions {
  remoteImages?: boolean
  pictures?: Record<string, string>
}

/** The sanitizer in a real browser: returns the sanitized mail, the number of remote images, and how long it took. */
export async function openSanitiser(browser: Browser) {
  const server = await serveLayers(undefined)
  const page = await browser.newPage()
  await page.goto(`${server.url}/`)
  return {
    sanitise: (html: string, options: SanitiseOptions = {}): Promise<Sanitised> =>
      page.evaluate(`sanitiseOne(${JSON.stringify(html)}, ${JSON.stringify(options)})`),
    async close() {
      await page.close()
      await server.close()
    },
  }
}

interface Sanitised {
  head: string
  body: string
  remoteImages: number
  ms: number
}

/** A page with the sanitizer and the frames of the reader, without the rest. */
export async function serveLayers(policy: string | undefined) {
  const script = await layerScript()
  const server = createServer(({ url }, response) => {
    if (policy) response.setHeader('content-security-policy', policy)
    if (url === '/layers.js') {
      response.setHeader('content-type', 'text/javascript').end(script)
    } else if (url === '/') {
      response.setHeader('content-type', 'text/html')
      response.end(
        '<!doctype html><title>layers</title><script src="/layers.js" type="module"></script>',
      )
    } else {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const source = (name: string) =>
  JSON.stringify(fileURLToPath(new URL(`../../../web/reader/${name}`, import.meta.url)))

// A frame has loaded and two animation frames have passed: everything automatic has started. Some frames never load.
const PAGE = `
import { sanitise } from ${source('sanitise.ts')}
import { frameDocument, SANDBOX } from ${source('frame-document.ts')}

const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
const defaults = { remoteImages: false, pictures: new Map(), leave: 'http://site.test/leave' }

// The sanitizer leaves the same of many payloads.
const shown = new Set()

async function show(html, { purifier, sandbox, policy }) {
  const inside = purifier ? sanitise(html, defaults).html : html
  if (shown.has(inside)) return
  shown.add(inside)
  const frame = document.createElement('iframe')
  if (sandbox !== false) frame.setAttribute('sandbox', sandbox === true ? SANDBOX : sandbox)
  frame.srcdoc = policy ? frameDocument(inside, { remoteImages: false }) : '<!doctype html>' + inside
  const loaded = new Promise((done) => { frame.onload = done; setTimeout(done, 2000) })
  document.body.append(frame)
  await loaded
  await painted()
  frame.remove()
}

window.showAll = (payloads, layers) => Promise.all(payloads.map((html) => show(html, layers)))

window.sanitiseOne = (html, { remoteImages = false, pictures = {} }) => {
  const options = { ...defaults, remoteImages, pictures: new Map(Object.entries(pictures)) }
  const start = performance.now()
  const clean = sanitise(html, options)
  const ms = performance.now() - start
  const { head, body } = new DOMParser().parseFromString(clean.html, 'text/html')
  return { head: head.innerHTML, body: body.innerHTML, remoteImages: clean.remoteImages, ms }
}
`

let built: Promise<string> | undefined

/** Bundles source files of the product for a browser. */
function layerScript(): Promise<string> {
  built ??= buildLayers()
  return built
}

async function buildLayers(): Promise<string> {
  const name = '\0layers'
  const output = await build({
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'layers',
        resolveId: (id) => (id === 'layers' ? name : null),
        load: (id) => (id === name ? PAGE : null),
      },
    ],
    build: { write: false, minify: false, rolldownOptions: { input: 'layers' } },
  })
  const [first] = [output].flat()
  const chunk = first && 'output' in first ? first.output[0] : undefined
  if (!chunk) throw new Error('the layers were not built')
  return chunk.code
}

import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { type Canary, telling, type Watched } from './hostile-canary.ts'

/** Which of the three stand between a mail and its reader. */
export interface Layers {
  purifier: boolean
  /** A text: a sandbox of another kind. */
  sandbox: boolean | string
  policy: boolean
}

/** Shows each payload in a frame of its own, behind these layers and no others. */
export async function showBehind(
  { browser, watch }: Pick<Canary, 'browser' | 'watch'>,
  layers: Layers,
  payloads: readonly string[],
): Promise<Watched> {
  const server = await servePage(layers.policy)
  const context = await browser.newContext()
  try {
    const watched = await watch(context, server.url)
    await watched.page.goto(`${server.url}/`)
    for (let start = 0; start < payloads.length; start += AT_ONCE) {
      const some = payloads
        .slice(start, start + AT_ONCE)
        .map((html, at) => telling(html, start + at))
      await watched.page.evaluate(`showAll(${JSON.stringify(some)}, ${JSON.stringify(layers)})`)
    }
    // What was asked for has been asked when nothing is under way any more.
    await watched.page.waitForLoadState('networkidle')
    return watched
  } finally {
    await context.close()
    await server.close()
  }
}

const AT_ONCE = 25

/** The page's own part of the policy, which a frame inherits: nothing may be framed but what is written here. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: http: https:; base-uri 'none'"

async function servePage(policy: boolean) {
  const script = await layerScript()
  const server = createServer(({ url }, answer) => {
    if (policy) answer.setHeader('content-security-policy', POLICY)
    if (url === '/layers.js') {
      answer.setHeader('content-type', 'text/javascript').end(script)
    } else if (url === '/') {
      answer.setHeader('content-type', 'text/html')
      answer.end(
        '<!doctype html><title>layers</title><script src="/layers.js" type="module"></script>',
      )
    } else {
      answer.writeHead(404).end()
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
  JSON.stringify(fileURLToPath(new URL(`../../web/reader/${name}`, import.meta.url)))

// A frame has loaded, and two more frames have been painted: what starts by itself has started.
const PAGE = `
import { sanitise } from ${source('sanitise.ts')}
import { frameDocument, SANDBOX } from ${source('frame-document.ts')}

const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))

async function show(html, layers) {
  const wishes = { remoteImages: false, pictures: new Map(), leave: location.origin + '/leave' }
  const inside = layers.purifier ? sanitise(html, wishes).html : html
  const frame = document.createElement('iframe')
  if (layers.sandbox !== false) frame.setAttribute('sandbox', layers.sandbox === true ? SANDBOX : layers.sandbox)
  frame.srcdoc = layers.policy ? frameDocument(inside, false) : '<!doctype html>' + inside
  const loaded = new Promise((done) => { frame.onload = done; setTimeout(done, 2000) })
  document.body.append(frame)
  await loaded
  await painted()
  frame.remove()
}

window.showAll = (payloads, layers) =>
  Promise.all(payloads.map((html) => show(html, layers)))
`

let built: Promise<string> | undefined

/** The product's own files, made into one for a browser. */
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

/**
 * Closes all open elements wherever they are nested too deeply, or the parser repeats too many. The time that browsers and DOMPurify take
 * grows with the depth, and with the cube of the formatting elements, such as `<b>`, that blocks leave open: 16 KB can crash
 * the page. Other HTML is returned unchanged.
 */
export function splitNested(html: string): string {
  const parts: string[] = []
  let part = openPart()
  for (const chunk of chunksOf(html)) {
    part.write(chunk)
    if (!part.isTooCostly() || !part.isBetweenTags()) continue
    parts.push(part.close())
    part = openPart()
  }
  return parts.length > 0 ? [...parts, part.close()].join('') : html
}

// Browsers stop at 512, but not if elements are closed in the wrong order.
const MAX_DEPTH = 200
// Formatting elements left open are repeated in each block: real mail has up to three elements per tag.
const MAX_ELEMENTS_PER_TAG = 4
const FREE_ELEMENTS = 200
const TAGS_PER_CHUNK = 64
const PROBES = ['link', 'frame']

/** Each but the first starts with `<`, so that no character reference is split. */
function* chunksOf(html: string): Generator<string> {
  let [start, tags] = [0, 0]
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) {
    if (tags === TAGS_PER_CHUNK) {
      yield html.slice(start, at)
      ;[start, tags] = [at, 0]
    }
    tags += 1
  }
  yield html.slice(start)
}

/** Parses step by step. A document without a window runs no scripts and loads nothing. */
function openPart() {
  const part = document.implementation.createHTMLDocument('')
  // Elements with names such as `write` hide the members of their document and form.
  const { write, close } = Document.prototype
  const walker = document.createTreeWalker(part)
  const observer = new MutationObserver(() => {})
  const hosts = new Map<Node, Node>()
  let [elements, depth, maxElements] = [0, 0, FREE_ELEMENTS]
  observe(part)
  write.call(part, '<!doctype html><html>')
  const root = part.documentElement

  function observe(tree: Document | DocumentFragment): void {
    observer.observe(tree, { childList: true, subtree: true })
    for (const template of tree.querySelectorAll('template')) observeTemplate(template)
  }

  function observeTemplate(template: HTMLTemplateElement): void {
    if (hosts.has(template.content)) return
    hosts.set(template.content, template)
    observe(template.content)
  }

  const addedElements = () =>
    observer
      .takeRecords()
      .flatMap(({ addedNodes }) => [...addedNodes].filter((node) => node instanceof Element))

  function depthOf(element: Element): number {
    let found = 0
    for (let node: Node | undefined = element; node; node = hosts.get(walker.currentNode)) {
      walker.currentNode = node
      while (walker.parentNode()) found += 1
    }
    return found
  }

  return {
    write(chunk: string): void {
      write.call(part, chunk)
      const added = addedElements()
      for (const one of added) if (one instanceof HTMLTemplateElement) observeTemplate(one)
      elements += added.length
      maxElements += MAX_ELEMENTS_PER_TAG * TAGS_PER_CHUNK
      depth = 0
      for (const one of added) depth = Math.max(depth, depthOf(one))
    },
    isTooCostly: () => depth > MAX_DEPTH || elements > maxElements,
    /** False within a comment, a style sheet or an attribute: cut in two, its end would become text. */
    isBetweenTags(): boolean {
      // In a frameset, only a frame becomes an element; elsewhere, no frame does.
      write.call(part, '<link><frame>')
      const probe = addedElements().find(({ localName }) => PROBES.includes(localName))
      probe?.remove()
      return probe !== undefined
    },
    close(): string {
      observer.disconnect()
      close.call(part)
      return root.outerHTML
    },
  }
}

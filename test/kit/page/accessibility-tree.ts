import type { Page } from 'playwright-core'

interface Value {
  value?: unknown
}

interface Node {
  nodeId: string
  ignored: boolean
  role?: Value
  name?: Value
  properties?: { name: string; value: Value }[]
  childIds?: string[]
}

// Layout without a meaning of its own, and the texts of which the names of other nodes are made.
const SILENT = new Set([
  'none',
  'generic',
  'InlineTextBox',
  'StaticText',
  'LineBreak',
  'RootWebArea',
])
const STATES = ['checked', 'disabled', 'expanded', 'focused', 'invalid', 'pressed', 'selected']
const OFF = new Set([undefined, false, 'false'])

/** What a screen reader finds, in its order: `tab Message [selected]`. Frames of mails are not entered. */
export async function accessibilityTree(page: Page): Promise<string[]> {
  const debug = await page.context().newCDPSession(page)
  const { nodes } = (await debug.send('Accessibility.getFullAXTree')) as { nodes: Node[] }
  await debug.detach()
  const byId = new Map(nodes.map((node) => [node.nodeId, node]))
  const lines = (node: Node | undefined): string[] => {
    if (!node) return []
    const own = node.ignored || SILENT.has(String(node.role?.value)) ? [] : [describe(node)]
    return [...own, ...(node.childIds ?? []).flatMap((id) => lines(byId.get(id)))]
  }
  return lines(nodes[0])
}

function describe({ role, name, properties = [] }: Node): string {
  const stateValue = (state: string) => properties.find((one) => one.name === state)?.value.value
  const on = STATES.filter((state) => !OFF.has(stateValue(state) as string | boolean | undefined))
  const words = [role?.value, name?.value].filter((word) => word !== undefined && word !== '')
  return `${words.join(' ')}${on.length > 0 ? ` [${on.join(', ')}]` : ''}`
}

/**
 * Run in the page: `announced` has the texts of live regions as they change. A status that comes into the document together
 * with its text is not read by every screen reader: it is in `unheard`.
 */
export const LISTEN = `{
  globalThis.announced = []
  globalThis.unheard = []
  const LIVE = '[role=status], [role=alert], [aria-live]'
  const inside = (nodes, selector) => [...nodes].flatMap((node) => node.nodeType === 1 ? [node, ...node.querySelectorAll('*')] : [])
    .filter((part) => part.matches(selector)).map((part) => part.textContent.trim()).filter((text) => text !== '')
  new MutationObserver((changes) => {
    // One that only moved says nothing new.
    const moved = changes.flatMap(({ removedNodes }) => inside(removedNodes, '[role=status]'))
    for (const { target, addedNodes } of changes) {
      unheard.push(...inside(addedNodes, '[role=status]').filter((text) => !moved.includes(text)))
      announced.push(...inside(addedNodes, '[role=alert]'))
      const region = (target.nodeType === 1 ? target : target.parentElement)?.closest(LIVE)
      const text = region?.textContent.trim()
      if (text && announced.at(-1) !== text) announced.push(text)
    }
  }).observe(document, { childList: true, characterData: true, subtree: true })
}`

/** Run in the page: texts that are cut off, and cannot be scrolled to. An ellipsis says that there is more. */
export const CUT = `(root) => {
  const found = new Set()
  const words = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  const isCut = (node) => {
    const range = document.createRange()
    range.selectNodeContents(node)
    const box = range.getBoundingClientRect()
    if (box.width * box.height === 0) return false
    for (let one = node.parentElement; one; one = one.parentElement) {
      const { overflowX, overflowY, textOverflow, webkitLineClamp, position } = getComputedStyle(one)
      const edge = one.getBoundingClientRect()
      // Text for screen readers only.
      if (edge.width <= 1 || edge.height <= 1) return false
      if (/auto|scroll/.test(overflowX + overflowY)) return false
      const isBeside = box.left < edge.left - 1 || box.right > edge.right + 1
      const isBelow = box.top < edge.top - 2 || box.bottom > edge.bottom + 2
      if (overflowX !== 'visible' && isBeside) return textOverflow !== 'ellipsis' && webkitLineClamp === 'none'
      if (overflowY !== 'visible' && isBelow) return webkitLineClamp === 'none'
      if (position === 'fixed') break
    }
    return box.left < -1 || box.right > innerWidth + 1
  }
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    if (!node.data.trim() || node.parentElement.closest('script, style')) continue
    if (node.parentElement.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && isCut(node))
      found.add(node.parentElement.className + ': ' + node.data.trim().slice(0, 40))
  }
  return [...found]
}`

/** Run in the page: selected, current and pressed elements that differ from the others by their colors alone. */
export const BY_COLOUR_ALONE = `(root) => {
  const alpha = (colour) => Number(/[,/]\\s*([\\d.]+)\\)$/.exec(colour.startsWith('rgba') ? colour : '')?.[1] ?? 1)
  const EDGES = ['Top', 'Right', 'Bottom', 'Left']
  const luminance = (colour) => {
    const [red = 0, green = 0, blue = 0] = colour.match(/[\\d.]+/g).map(Number)
    const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
  }
  const shapeOf = (one) => ['', '::before', '::after'].map((part) => {
    const style = getComputedStyle(one, part)
    if (part && style.content === 'none') return ''
    const borders = EDGES.map((edge) => alpha(style['border' + edge + 'Color']) === 0 ? 0 : style['border' + edge + 'Width'] + style['border' + edge + 'Style'])
    const outline = alpha(style.outlineColor) === 0 ? 'none' : style.outlineStyle + style.outlineWidth
    return [...borders, outline, style.textDecorationLine, style.fontWeight, style.boxShadow.replace(/^rgba?\\([^)]*\\) /, ''), style.backgroundImage, part && style.display + style.content].join()
  }).join(';')
  const parts = (one) => [one, one.closest('li'), ...one.querySelectorAll('svg, span')].filter(Boolean)
  const shape = (one) => parts(one).map(shapeOf).join('|') + [...one.querySelectorAll('svg')].map((icon) => icon.innerHTML)
  const background = (one) => {
    const colour = getComputedStyle(one).backgroundColor
    return alpha(colour) === 0 && one.parentElement ? background(one.parentElement) : colour
  }
  const contrast = (one, other) => {
    const [dark, light] = [luminance(background(one)), luminance(background(other))].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const PAIRS = [
    ['[aria-selected=true]', '[aria-selected=false]'],
    ['[aria-current]:not([aria-current=false])', ':not([aria-current])'],
    ['[aria-pressed=true]', '[aria-pressed=false]'],
  ]
  return PAIRS.flatMap(([on, off]) => [...root.querySelectorAll(on)]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getBoundingClientRect().width > 1)
    .filter((one) => {
      const group = one.closest('[role=tablist], nav, ul, ol, div')
      const other = [...group.querySelectorAll(one.localName + off)].find((two) => two.checkVisibility() && two.className === one.className)
      return other && shape(one) === shape(other) && contrast(one, other) < 3
    })
    .map((one) => on + ' ' + one.textContent.trim().slice(0, 40)))
}`

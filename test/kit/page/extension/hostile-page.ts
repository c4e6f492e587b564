/**
 * A page that wants the token: it records everything that the extension does within its reach (`seen`), and `attacks` has what
 * it can do to the button. It knows the button only as any page would: as an element that it did not add itself.
 */
export function hostilePage(): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Free tea</title>
<style>
  body { font: 16px/1.5 sans-serif; margin: 4rem }
  input { font: inherit; padding: .5rem; width: 20rem }
  .veil::backdrop { background: white }
</style>
<script>${SPY}</script>
</head>
<body><h1>Free tea</h1>
<label for="email">E-mail</label> <input id="email" type="email" name="email" autocomplete="email">
<p><label for="code">Code</label> <input id="code" name="code" autocomplete="one-time-code"></p>
<script>${ATTACKS}</script>
</body></html>`
}

/** Runs before anything that is injected. */
const SPY = `
  const seen = []
  const note = (...what) => seen.push(what.map(describe).join(' '))
  function describe(value) {
    if (value instanceof Element) return value.outerHTML
    if (typeof value === 'function') return String(value)
    try { return JSON.stringify(value) ?? String(value) } catch { return String(value) }
  }

  // Messages and events, with all their properties.
  addEventListener('message', ({ data, origin }) => note('message', origin, data), true)
  for (const name of ['click', 'pointerdown', 'mousedown', 'input', 'beforeinput', 'change', 'paste', 'focusin', 'keydown', 'animationstart', 'toggle'])
    addEventListener(name, (event) => {
      const all = {}
      for (const key in event) all[key] = ['string', 'number', 'boolean'].includes(typeof event[key]) ? event[key] : undefined
      note(name, all, event.detail, event.composedPath().map((one) => one.nodeName ?? 'Window'))
    }, true)

  // Everything that is called or assigned in this world.
  const spyOn = (owner, name) => {
    const real = owner[name]
    owner[name] = function (...args) { note(name, ...args); return real.apply(this, args) }
  }
  const realAttach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function (options) { note('attachShadow', options); return realAttach.call(this, { ...options, mode: 'open' }) }
  for (const name of ['setAttribute', 'append', 'remove']) spyOn(Element.prototype, name)
  for (const name of ['appendChild', 'insertBefore']) spyOn(Node.prototype, name)
  for (const name of ['addEventListener', 'dispatchEvent']) spyOn(EventTarget.prototype, name)
  for (const name of ['fetch', 'postMessage', 'setTimeout']) spyOn(globalThis, name)
  spyOn(JSON, 'parse')
  for (const name of ['token', 'key', 'email', 'code', 'server', 'servers', 'addresses'])
    Object.defineProperty(Object.prototype, name, { configurable: true, set(value) {
      note('set', name, value)
      Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true })
    } })
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')
  Object.defineProperty(HTMLInputElement.prototype, 'value', { ...value, set(text) { note('value', text); value.set.call(this, text) } })

  // The next element of that name would be one of this page's own, which may look into its closed shadow tree.
  const internals = []
  const define = (name) => {
    if (!name.includes('-') || customElements.get(name)) return
    customElements.define(name, class extends HTMLElement {
      constructor() {
        super()
        internals.push(this.attachInternals())
      }
    })
  }

  // Elements that this page did not add.
  const strangers = new Set()
  new MutationObserver((records) => {
    for (const { type, target, addedNodes, attributeName } of records) {
      if (type === 'attributes') note('attribute', attributeName, target)
      for (const node of addedNodes) if (document.readyState === 'complete' && node instanceof Element && !node.dataset.own) {
        strangers.add(node)
        define(node.localName)
        globalThis.hostile?.disguise?.()
        note('added', node, node.shadowRoot, Object.keys(node))
      }
    }
  }).observe(document, { subtree: true, childList: true, attributes: true })
`

/** The attacks themselves. Those that need a click of the user leave it to the test. */
const ATTACKS = `
  const style = (element, properties) => {
    for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value, 'important')
  }
  const own = (name, properties, css) => {
    const element = Object.assign(document.createElement(name), properties)
    element.dataset.own = 'true'
    style(element, css)
    document.body.append(element)
    return element
  }
  const COVER = { position: 'fixed', inset: '0', 'z-index': '2147483647', background: 'white', 'pointer-events': 'none' }
  const undo = []
  const restyle = (element, properties) => {
    const before = element.getAttribute('style')
    style(element, properties)
    undo.push(() => before === null ? element.removeAttribute('style') : element.setAttribute('style', before))
  }
  const buttons = () => [...strangers].filter((one) => one.isConnected && one.getBoundingClientRect().width > 0)

  /** A pixel in the top layer, which hides the button by what it draws around itself. */
  const pixel = (css, parent = document.body) => {
    const element = own('div', { popover: 'manual' }, { ...COVER, inset: '0 auto auto 0', width: '1px', height: '1px', border: '0', padding: '0', overflow: 'visible', ...css })
    parent.append(element)
    element.showPopover()
    undo.push(() => element.remove())
    return element
  }
  /** Drawn by the button's own element, which every rule for that element leaves alone. */
  const pseudo = (name) => {
    const css = Object.entries(COVER).map((pair) => pair.join(': ')).join('; ')
    const sheet = own('style', { textContent: '[popover]:not([data-own])' + name + ' { content: "Continue"; ' + css + ' }' }, {})
    undo.push(() => sheet.remove())
  }
  const WIDE_SHADOW = { 'box-shadow': '0 0 0 9999px white' }

  const disguises = {
    backdrop: () => pixel({}).classList.add('veil'),
    shadow: () => pixel(WIDE_SHADOW),
    child: () => pixel({}).append(own('div', {}, COVER)),
    before: () => pseudo('::before'),
    after: () => pseudo('::after'),
    /** Held for as long as the page likes, and drawn above the top layer. */
    transition() {
      const css = '::view-transition { background: white; pointer-events: none } ::view-transition-group(root) { animation-duration: 1000s } ::view-transition-image-pair(root) { opacity: 0 }'
      const sheet = own('style', { textContent: css }, {})
      const transition = document.startViewTransition(() => {})
      undo.push(() => { transition.skipTransition(); sheet.remove() })
    },
    nested() {
      const outer = own('div', {}, {})
      pixel(WIDE_SHADOW, realAttach.call(outer, { mode: 'closed' }))
      undo.push(() => outer.remove())
    },
    /** In an element that is in the top layer, and came there later. */
    enclosed() {
      hostile.disguise = undefined
      const outer = own('div', { popover: 'manual' }, { ...COVER, width: '100vw', height: '100vh', border: '0' })
      for (const one of buttons()) {
        outer.append(one)
        one.showPopover()
      }
      outer.showPopover()
      undo.push(() => {
        outer.remove()
        document.activeElement.blur()
      })
    },
    /** By the dialog that it is in, which is closed and opened again. */
    reopened() {
      const field = document.querySelector('#email')
      const { left, top } = field.getBoundingClientRect()
      const dialog = own('dialog', {}, { ...COVER, width: '100vw', height: '100vh', 'max-width': 'none', 'max-height': 'none', border: '0' })
      const open = () => {
        dialog.showModal()
        field.focus()
      }
      undo.push(() => {
        document.querySelector('label').after(field)
        dialog.remove()
      })
      restyle(field, { position: 'fixed', left: left + 'px', top: top + 'px' })
      // Then there will be one in the dialog.
      for (const one of buttons()) one.remove()
      dialog.append(field)
      hostile.disguise = () => {
        hostile.disguise = undefined
        dialog.close()
        open()
      }
      open()
    },
    covered() {
      const cover = own('div', { popover: 'manual', textContent: 'Click anywhere to win' }, { ...COVER, width: '100vw', height: '100vh' })
      cover.showPopover()
      undo.push(() => cover.remove())
    },
    transparent: () => buttons().forEach((one) => restyle(one, { opacity: '0.01' })),
    filtered: () => buttons().forEach((one) => restyle(one, { filter: 'opacity(0)' })),
    clipped: () => buttons().forEach((one) => restyle(one, { 'clip-path': 'inset(49%)' })),
    enlarged: () => buttons().forEach((one) => restyle(one, { transform: 'scale(90)', opacity: '0.01' })),
  }

  const clickForUser = () => {
    const options = { bubbles: true, composed: true, cancelable: true, view: window, detail: 1, buttons: 1 }
    for (const one of buttons()) {
      const { x, y, width, height } = one.getBoundingClientRect()
      const at = { ...options, clientX: x + width / 2, clientY: y + height / 2 }
      const inside = one.shadowRoot?.querySelectorAll('*') ?? []
      for (const target of [one, document.elementFromPoint(at.clientX, at.clientY), ...inside]) {
        for (const name of ['pointerdown', 'pointerup']) target?.dispatchEvent(new PointerEvent(name, at))
        for (const name of ['mousedown', 'mouseup', 'click']) target?.dispatchEvent(new MouseEvent(name, at))
        for (const key of ['Enter', ' ']) for (const name of ['keydown', 'keypress', 'keyup'])
          target?.dispatchEvent(new KeyboardEvent(name, { ...options, key }))
        target?.click?.()
      }
    }
  }

  /** What a content script might listen to, and what the background might take. */
  const speak = (extension) => {
    const kinds = ['fill', 'create', 'token', 'addresses', 'state', 'code', 'list', 'ping']
    const sent = kinds.flatMap((type) => [{ type }, { kind: type }, { action: type }, type])
    for (const message of sent) {
      window.postMessage(message, '*')
      document.dispatchEvent(new CustomEvent(typeof message === 'string' ? message : 'mayfly', { detail: message }))
      try { (globalThis.browser ?? globalThis.chrome)?.runtime?.sendMessage?.(extension, message, (answer) => note('answer', answer)) } catch (fault) { note('fault', String(fault)) }
    }
    try {
      const port = (globalThis.browser ?? globalThis.chrome)?.runtime?.connect?.(extension)
      port?.onMessage.addListener((message) => note('port', message))
    } catch (fault) { note('fault', String(fault)) }
  }

  /** Whether pages and files of the extension can be loaded from here. */
  const reach = async (urls) => {
    const reached = []
    for (const url of urls) {
      await fetch(url).then(() => reached.push('fetch ' + url), () => {})
      const image = own('img', { src: url }, {})
      await new Promise((resolve) => { image.onload = () => { reached.push('img ' + url); resolve() }; image.onerror = resolve })
      const script = own('script', { src: url }, {})
      await new Promise((resolve) => { script.onload = () => { reached.push('script ' + url); resolve() }; script.onerror = resolve })
    }
    return reached
  }

  /** All that a page can read: DOM with open shadow roots, storage, globals, and what was recorded. */
  const loot = () => {
    const roots = []
    const walk = (root) => { for (const one of root.querySelectorAll('*')) { if (one.shadowRoot) { roots.push(one.shadowRoot.innerHTML); walk(one.shadowRoot) } } }
    walk(document)
    roots.push(...internals.map(({ shadowRoot }) => shadowRoot?.innerHTML))
    const values = [...document.querySelectorAll('input')].map((input) => input.value)
    const globals = Object.getOwnPropertyNames(globalThis).filter((name) => name !== 'seen').map((name) => {
      try { return name + ' ' + describe(globalThis[name]) } catch { return name }
    })
    return [document.documentElement.outerHTML, ...roots, ...values, ...globals, document.cookie, { ...localStorage }, { ...sessionStorage }, performance.getEntries().map(({ name }) => name), location.href, document.title, history.state, ...seen].map(describe).join('\\n')
  }
  globalThis.hostile = { disguises, clickForUser, speak, reach, loot, 
    undo() {
      hostile.disguise = undefined
      for (const one of undo.splice(0)) one()
    }, 
    focusButton: () => buttons().forEach((one) => { one.tabIndex = 0; one.focus() }),
    /** The field moves, and the button with it. */
    jump: () => style(document.querySelector('#email'), { position: 'fixed', left: '300px', top: '400px' }),
  }
`

import { browser } from './browser.ts'
import { codeFields, type FieldFacts, isEmailField, splitCode } from './fields.ts'

// The fields of a page, also in shadow trees.

interface FirefoxElement extends Element {
  openOrClosedShadowRoot?: ShadowRoot | null
}

function shadowOf(element: FirefoxElement): ShadowRoot | null {
  if (element.openOrClosedShadowRoot !== undefined) return element.openOrClosedShadowRoot
  if (!(element instanceof HTMLElement)) return null
  return browser.dom?.openOrClosedShadowRoot(element) ?? element.shadowRoot
}

/** In the order of the document, with those in shadow trees. */
function allElements(root: Document | ShadowRoot = document): Element[] {
  return [...root.querySelectorAll('*')].flatMap((element) => {
    const shadow = shadowOf(element)
    return shadow ? [element, ...allElements(shadow)] : [element]
  })
}

/** The document, and all shadow trees in it. */
export function allTrees(root: Document | ShadowRoot = document): (Document | ShadowRoot)[] {
  const inner = [...root.querySelectorAll('*')].flatMap((element) => shadowOf(element) ?? [])
  return [root, ...inner.flatMap((shadow) => allTrees(shadow))]
}

function usableInputs(): HTMLInputElement[] {
  return allElements().filter(
    (element): element is HTMLInputElement =>
      element instanceof HTMLInputElement && isUsable(element),
  )
}

function isUsable(input: HTMLInputElement): boolean {
  if (input.disabled || input.readOnly || input.ariaHidden === 'true') return false
  return input.checkVisibility({ visibilityProperty: true, opacityProperty: true })
}

function factsOf(input: HTMLInputElement): FieldFacts {
  const labels = [...(input.labels ?? [])].map(({ textContent }) => textContent)
  const { name, id, placeholder, ariaLabel } = input
  return {
    type: input.type,
    autocomplete: input.autocomplete,
    maxLength: input.maxLength,
    width: input.getBoundingClientRect().width,
    words: [name, id, placeholder, ariaLabel, ...labels].join(' '),
  }
}

/** The input that has the focus, also inside shadow trees. */
export function focusedInput(): HTMLInputElement | undefined {
  let element: Element | null = document.activeElement
  while (element) {
    const inner: Element | null = shadowOf(element)?.activeElement ?? null
    if (!inner) break
    element = inner
  }
  return element instanceof HTMLInputElement && isUsable(element) ? element : undefined
}

export function isEmailInput(input: HTMLInputElement): boolean {
  return isEmailField(factsOf(input))
}

/** The focused field if the person asked for it there, or if it is for an e-mail address; else the first that is. */
export function findEmailInput(isHere = false): HTMLInputElement | undefined {
  const focused = focusedInput()
  if (focused && (isHere || isEmailInput(focused))) return focused
  return usableInputs().find(isEmailInput)
}

/** The field, and one of the same form that asks for the address again. */
export function fillEmail(input: HTMLInputElement, email: string): void {
  const { form } = input
  const again = usableInputs().filter(
    (other) => other !== input && form !== null && other.form === form && other.value === '',
  )
  setValue(input, email)
  for (const other of again.filter(isEmailInput)) setValue(other, email)
  input.focus()
}

/** Where the code belongs: one field or several boxes; else an empty field that has the focus. */
export function findCodeInputs(code: string): HTMLInputElement[] {
  const inputs = usableInputs()
  const found = codeFields(inputs.map(factsOf)).flatMap((at) => inputs[at] ?? [])
  if (found.length > 0) return splitCode(code, found.length) ? found : found.slice(0, 1)
  const focused = focusedInput()
  const isPlain = focused && /^(text|tel|number)$/.test(focused.type) && focused.value === ''
  return isPlain && !isEmailInput(focused) ? [focused] : []
}

export function fillCode(inputs: HTMLInputElement[], code: string): void {
  const values = splitCode(code, inputs.length) ?? [code]
  for (const [at, input] of inputs.entries()) {
    input.focus()
    setValue(input, values[at] ?? '')
  }
}

/** As if it were typed. Scripts of the page that replace the setter of `value` do not see this one. */
function setValue(input: HTMLInputElement, value: string): void {
  input.value = value
  const options = { bubbles: true, composed: true }
  input.dispatchEvent(new InputEvent('input', { ...options, data: value, inputType: 'insertText' }))
  input.dispatchEvent(new Event('change', options))
}

import type { Key } from './driver.ts'

// https://www.w3.org/TR/webdriver2/#keyboard-actions
const CODES: Record<string, string> = {
  Backspace: '\ue003',
  Tab: '\ue004',
  Enter: '\ue007',
  Control: '\ue009',
  Escape: '\ue00c',
  ArrowLeft: '\ue012',
  ArrowRight: '\ue014',
}

/** The same in WebDriver and WebDriver BiDi. */
export function keyActions(keys: readonly Key[]) {
  const actions = keys.flatMap((key) => {
    const parts = key.length === 1 ? [key] : key.split('+')
    const values = parts.map((part) => CODES[part] ?? part)
    return [
      ...values.map((value) => ({ type: 'keyDown', value })),
      ...values.toReversed().map((value) => ({ type: 'keyUp', value })),
    ]
  })
  return { type: 'key', id: 'keyboard', actions }
}

/** So narrow that list and reader take turns; inbox.css has the same. */
const ONE_PANE = matchMedia('(max-width: 48rem)')

export function isOnePane(): boolean {
  return ONE_PANE.matches
}

export function rowId(id: number): string {
  return `mail-${id}`
}

/** False when there is no such row. */
export function focusRow(id: number | undefined): boolean {
  const row = document.getElementById(rowId(id ?? 0))
  row?.focus({ preventScroll: true })
  row?.scrollIntoView({ block: 'nearest' })
  return row !== null
}

/** The list itself, where there is no row to go to. */
export function focusList(): void {
  document.getElementById('messages')?.focus({ preventScroll: true })
}

export function isList(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.id === 'messages'
}

/** Where a screen reader begins to read the message. */
export function focusReader(): void {
  const pane = document.getElementById('reader')
  const heading = pane?.querySelector<HTMLElement>('h1, h2') ?? pane
  if (heading && heading.tabIndex < 0) heading.tabIndex = -1
  heading?.focus({ preventScroll: true })
}

/** True when somebody writes there: then no key is a command. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement)
    return !/^(checkbox|radio|button|submit)$/.test(target.type)
  return target.isContentEditable || target.matches('textarea, select')
}

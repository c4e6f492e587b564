/** Too narrow for list and reader side by side; inbox.css has the same. */
const ONE_PANE = matchMedia('(max-width: 48rem)')

export function isOnePane(): boolean {
  return ONE_PANE.matches
}

export function rowId(id: number): string {
  return `mail-${id}`
}

/** False if there is no such row. */
export function focusRow(id: number | undefined): boolean {
  const row = document.getElementById(rowId(id ?? 0))
  row?.focus({ preventScroll: true })
  row?.scrollIntoView({ block: 'nearest' })
  return row !== null
}

export function focusList(): void {
  document.getElementById('messages')?.focus({ preventScroll: true })
}

/** Focuses the heading, where a screen reader starts to read. */
export function focusReader(): void {
  const pane = document.getElementById('reader')
  const heading = pane?.querySelector<HTMLElement>('h1, h2') ?? pane
  if (heading && heading.tabIndex < 0) heading.tabIndex = -1
  heading?.focus({ preventScroll: true })
}

import { useEffect, useRef } from 'preact/hooks'

/**
 * If the focused element is gone after the list has changed, the entry at its place gets the focus. `entries`: the selector
 * of the entries, which can be focused like the element with the returned properties.
 */
export function useKeptFocus(list: unknown, entries: string) {
  const ref = useRef<HTMLElement>(null)
  const lastIndex = useRef<number | undefined>(undefined)
  const all = () => [...(ref.current?.querySelectorAll<HTMLElement>(entries) ?? [])]
  useEffect(() => {
    if (lastIndex.current === undefined || document.activeElement !== document.body) return
    const left = all()
    const entry = left[Math.min(lastIndex.current, left.length - 1)] ?? ref.current
    entry?.focus()
  }, [list])

  function onFocusIn({ target }: { target: EventTarget | null }): void {
    if (!(target instanceof Element) || target.closest('dialog')) return
    lastIndex.current = Math.max(
      all().findIndex((entry) => entry.contains(target)),
      0,
    )
  }
  return { ref, onFocusIn }
}

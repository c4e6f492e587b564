import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

interface TabsProps<T extends string> {
  label: string
  tabs: readonly { name: T; words: string }[]
  chosen: T
  onChoose(name: T): void
  children: ComponentChildren
}

/** One of several views of the same thing. The arrow keys go from tab to tab, as everywhere. */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose, children }: TabsProps<T>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const go = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ name }) => name === chosen)
    const next = tabs[stepTo(event.key, at, tabs.length)]
    if (!next) return
    event.preventDefault()
    event.stopPropagation()
    onChoose(next.name)
    list.current?.querySelector<HTMLElement>(`[data-name="${next.name}"]`)?.focus()
  }
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list}>
        {tabs.map(({ name, words }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            data-name={name}
            aria-selected={name === chosen}
            aria-controls={`${id}-view`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
            onKeyDown={go}
          >
            {words}
          </button>
        ))}
      </div>
      <div class="tab-view" role="tabpanel" id={`${id}-view`} aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </>
  )
}

function stepTo(key: string, at: number, count: number): number {
  const forward = document.documentElement.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
  const back = forward === 'ArrowLeft' ? 'ArrowRight' : 'ArrowLeft'
  if (key === forward) return (at + 1) % count
  if (key === back) return (at + count - 1) % count
  if (key === 'Home') return 0
  return key === 'End' ? count - 1 : -1
}

import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useId, useRef } from 'preact/hooks'
import './tabs.css'

interface TabsProps<Name extends string> {
  label: string
  tabs: readonly (readonly [name: Name, words: string])[]
  chosen: Name
  onChoose(name: Name): void
  /** The panel scrolls, so that the keyboard must reach it. */
  scrolls?: boolean
  /** Panel of the selected tab. */
  children: ComponentChildren
}

/** Arrow keys move between tabs (ARIA tabs pattern). */
export function Tabs<Name extends string>(props: TabsProps<Name>) {
  const { label, tabs, chosen, onChoose, scrolls = false, children } = props
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const at = tabs.findIndex(([name]) => name === chosen)
    const to = targetOf(event.key, at, tabs.length)
    const found = to === undefined ? undefined : tabs[to]
    if (!found || to === undefined) return
    event.preventDefault()
    onChoose(found[0])
    list.current?.querySelectorAll('button')[to]?.focus()
  }
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(([name, words]) => (
          <button
            key={name}
            id={`${id}-${name}`}
            type="button"
            role="tab"
            data-name={name}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {words}
          </button>
        ))}
      </div>
      <div
        class="tab-view"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${chosen}`}
        tabIndex={scrolls ? 0 : undefined}
      >
        {children}
      </div>
    </>
  )
}

/** Right-to-left, left is forward. */
function targetOf(key: string, at: number, count: number): number | undefined {
  const forward = document.documentElement.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
  const back = forward === 'ArrowLeft' ? 'ArrowRight' : 'ArrowLeft'
  if (key === forward) return (at + 1) % count
  if (key === back) return (at + count - 1) % count
  if (key === 'Home') return 0
  return key === 'End' ? count - 1 : undefined
}

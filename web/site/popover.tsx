import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import './popover.css'

interface PopoverProps {
  /** Name of the button; also its text, unless `caption` is given. */
  label: string
  icon?: IconName
  caption?: ComponentChildren
  /** Class of the button. */
  class?: string
  /** Class of the panel. A style sheet may show it in place of the button if there is room. */
  panelClass?: string
  children: ComponentChildren
}

/** A button and the panel that it opens. Escape, a click elsewhere or a button of the panel closes it. */
export function Popover(props: PopoverProps) {
  const { label, icon, caption, class: className = 'plain', panelClass = '', children } = props
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current } = panel
    const close = ({ target }: Event) => {
      const isButton = target instanceof Element && target.closest('button')
      if (isButton && current?.matches(':popover-open')) current.hidePopover()
    }
    current?.addEventListener('click', close)
    return () => current?.removeEventListener('click', close)
  }, [])
  return (
    <>
      <button
        type="button"
        ref={button}
        class={`${className} popover-button`}
        popovertarget={id}
        aria-label={label}
        title={caption === undefined ? label : undefined}
      >
        {icon && <Icon name={icon} />}
        {caption}
      </button>
      <div
        id={id}
        ref={panel}
        popover="auto"
        class={`popover ${panelClass}`}
        onToggle={({ newState, currentTarget }) => {
          if (newState === 'open' && button.current) place(currentTarget, button.current)
        }}
      >
        {children}
      </div>
    </>
  )
}

const GAP = 4
const MARGIN = 8

/** Below the button and in line with its start, if there is room; else above it, or in line with its end. */
function place(panel: HTMLElement, button: HTMLElement): void {
  const { left, right, top, bottom } = button.getBoundingClientRect()
  const { width, height } = panel.getBoundingClientRect()
  const isRtl = document.documentElement.dir === 'rtl'
  const fitsRight = left + width + MARGIN <= innerWidth
  const fitsLeft = right - width >= MARGIN
  const x = (isRtl ? fitsLeft : !fitsRight) ? right - width : left
  const below = bottom + GAP
  const y = below + height > innerHeight && top > height ? top - GAP - height : below
  const rightmost = innerWidth - width - MARGIN
  panel.style.left = `${scrollX + Math.max(MARGIN, Math.min(x, rightmost))}px`
  panel.style.top = `${scrollY + y}px`
}

import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { say } from '../site/words.ts'
import { chosen } from './chosen.ts'
import { moveBy } from './deeds.ts'
import { cut, full, messages, query, shown } from './mail.ts'
import { opened } from './opened.ts'
import { Row, type RowProps } from './row.tsx'
import { Tools } from './tools.tsx'
import { read } from './unread.ts'
import './list.css'

/** The messages, and what can be done with them together. */
export function List() {
  return (
    <div class="list">
      <Tools />
      {full.value && <p class="notice list-notice">{say('inbox_full')}</p>}
      {cut.value && (
        <p class="soft list-notice">{say('inbox_cut', { count: messages.value.length })}</p>
      )}
      {/* Another search begins at the top. */}
      {shown.value.length === 0 ? <NoneFound /> : <Rows key={query.value} />}
    </div>
  )
}

// A screen and a half; the rest is drawn in such steps, whenever the browser has time.
const STEP = 40

function Rows() {
  const rows = shown.value
  const openId = opened.value?.id
  const [drawn, draw] = useState(STEP)
  const rowOf = useKeptRows()
  useEffect(() => {
    if (drawn >= rows.length) return undefined
    return whenIdle(() => draw(drawn + STEP))
  }, [drawn, rows.length])
  return (
    <ul
      class="mails"
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
        event.preventDefault()
        moveBy(event.key === 'ArrowDown' ? 1 : -1)
      }}
    >
      {rows.slice(0, drawn).map((message) =>
        rowOf({
          message,
          isUnread: !read.value.has(message.id),
          isChosen: chosen.value.has(message.id),
          isOpen: message.id === openId,
        }),
      )}
    </ul>
  )
}

/** A row of which nothing is different is the very same as before: Preact passes over it. */
function useKeptRows(): (props: RowProps) => VNode {
  const { current: before } = useRef(new Map<number, { props: RowProps; row: VNode }>())
  return (props) => {
    const { id } = props.message
    const kept = before.get(id)
    if (kept && isSame(kept.props, props)) return kept.row
    const row = <Row key={id} {...props} />
    before.set(id, { props, row })
    return row
  }
}

function isSame(one: RowProps, other: RowProps): boolean {
  return (
    one.message === other.message &&
    one.isUnread === other.isUnread &&
    one.isChosen === other.isChosen &&
    one.isOpen === other.isOpen
  )
}

/** Safari has no word for it. */
function whenIdle(operation: () => void): () => void {
  const { requestIdleCallback, cancelIdleCallback } = window as Partial<Window & typeof globalThis>
  if (!requestIdleCallback || !cancelIdleCallback) {
    const timer = setTimeout(operation, 50)
    return () => clearTimeout(timer)
  }
  const idle = requestIdleCallback(operation, { timeout: 500 })
  return () => cancelIdleCallback(idle)
}

function NoneFound() {
  return (
    <div class="list-none">
      <p>{say('inbox_found_none')}</p>
      <button
        type="button"
        class="plain"
        onClick={() => {
          query.value = ''
        }}
      >
        {say('inbox_search_clear')}
      </button>
    </div>
  )
}

import { useEffect, useRef } from 'preact/hooks'
import { current } from '../address/mailboxes.ts'
import { Reader } from '../reader/reader.tsx'
import { Glyph } from '../site/glyphs.tsx'
import { say } from '../site/words.ts'
import { deleteOpened } from './deeds.ts'
import { focusReader, focusRow, isOnePane } from './focus.ts'
import { List } from './list.tsx'
import { close, listAt, newer, older, open, opened } from './opened.ts'
import { markRead } from './unread.ts'

/** The list and the message: beside each other where there is room, else one at a time. */
export function Panes() {
  useTurns()
  return (
    <div class="panes">
      <List />
      <section id="reader" class="reader-pane" aria-label={say('inbox_reader')} tabIndex={-1}>
        <OpenMessage />
      </section>
    </div>
  )
}

function OpenMessage() {
  const summary = opened.value
  const token = current.value?.token
  if (!summary || !token) {
    return (
      <p class="reader-none">
        <Glyph name="letter" />
        {say('inbox_choose')}
      </p>
    )
  }
  return (
    <Reader
      token={token}
      summary={summary}
      onBack={close}
      onNewer={to(newer.value)}
      onOlder={to(older.value)}
      onDelete={deleteOpened}
      onShown={() => markRead(summary.id)}
    />
  )
}

function to(id: number | undefined): (() => void) | undefined {
  return id === undefined ? undefined : () => open(id)
}

/** Where one pane takes the place of the other, focus and scroll go with it, and come back. */
function useTurns(): void {
  const id = opened.value?.id
  const before = useRef<number | undefined>(undefined)
  useEffect(() => {
    const last = before.current
    if (last === id) return
    before.current = id
    if (id === undefined) {
      if (isOnePane()) scrollTo({ top: listAt.value, behavior: 'instant' })
      focusRow(last)
    } else if (isOnePane()) {
      scrollTo({ top: 0, behavior: 'instant' })
      focusReader()
    } else document.getElementById('reader')?.scrollTo({ top: 0, behavior: 'instant' })
  }, [id])
}

import { say } from '../site/words.ts'
import { chosen } from './chosen.ts'
import { moveBy } from './deeds.ts'
import { cut, full, messages, query, shown } from './mail.ts'
import { opened } from './opened.ts'
import { Row } from './row.tsx'
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
      {shown.value.length === 0 ? <NoneFound /> : <Rows />}
    </div>
  )
}

function Rows() {
  const openId = opened.value?.id
  return (
    <ul
      class="mails"
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
        event.preventDefault()
        moveBy(event.key === 'ArrowDown' ? 1 : -1)
      }}
    >
      {shown.value.map((message) => (
        <Row
          key={message.id}
          message={message}
          isUnread={!read.value.has(message.id)}
          isChosen={chosen.value.has(message.id)}
          isOpen={message.id === openId}
        />
      ))}
    </ul>
  )
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

import { say } from '../site/words.ts'
import { Drawing } from './drawing.tsx'
import { hearing } from './mail.ts'
import './empty.css'

/** What stands there while there is no mail, and when there will be none. */
export function Empty() {
  const isEnded = hearing.value.kind === 'ended'
  return (
    <div class={`empty${isEnded ? ' over' : ''}`}>
      <Drawing />
      <h3>{say(isEnded ? 'inbox_ended' : 'inbox_empty')}</h3>
      <p>{say(isEnded ? 'inbox_ended_how' : 'inbox_empty_how')}</p>
      {!isEnded && <p class="soft">{say('inbox_empty_code')}</p>}
    </div>
  )
}

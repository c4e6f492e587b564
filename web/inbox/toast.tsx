import { announcedQuietly, told } from '../site/told.ts'
import { say } from '../site/words.ts'
import {
  holdUndo,
  resumeUndo,
  retryUndeleted,
  sending,
  undeleted,
  undo,
  undoableCount,
} from './deletions.ts'
import { focusList } from './focus.ts'

// Less is over before it could be read.
const LEAST_PROGRESS = 20

/** What was just done, at the edge of the page, and the way back. */
export function Toast() {
  return (
    <>
      <div class="toasts">
        <div role="status">
          {told.value && <p class="toast">{told.value}</p>}
          <Progress />
        </div>
        <Undo />
      </div>
      <p class="unseen" role="status">
        {announcedQuietly.value}
      </p>
    </>
  )
}

function Undo() {
  const count = undoableCount.value
  return (
    <div role="status">
      {count > 0 && (
        <p
          class="toast"
          onPointerEnter={holdUndo}
          onPointerLeave={resumeUndo}
          onFocusCapture={holdUndo}
          onBlurCapture={resumeUndo}
        >
          {say('inbox_deleted', { count })}
          <button type="button" class="quiet small" onClick={() => thenList(undo)}>
            {say('inbox_undo')}
          </button>
        </p>
      )}
    </div>
  )
}

/** The button goes with its toast, and would take the focus along. */
function thenList(operation: () => void): void {
  operation()
  focusList()
}

function Progress() {
  const { done, total } = sending.value ?? { done: 0, total: 0 }
  const failed = undeleted.value.length
  if (failed > 0)
    return (
      <p class="toast">
        {say('inbox_undeleted', { count: failed })}
        <button type="button" class="quiet small" onClick={() => thenList(retryUndeleted)}>
          {say('inbox_try')}
        </button>
      </p>
    )
  if (total < LEAST_PROGRESS) return null
  return (
    <p class="toast">
      {say('inbox_deleting', { done, total })}
      <progress value={done} max={total} aria-label={say('inbox_deleting', { done, total })} />
    </p>
  )
}

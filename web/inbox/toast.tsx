import { announcement, quietAnnouncement } from '../site/announce.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { focusList } from './actions.ts'
import {
  deleteProgress,
  failedDeletions,
  pauseUndo,
  resumeUndo,
  retryFailed,
  undo,
  undoableCount,
} from './deletions.ts'

// Fewer are deleted before anyone could read the progress.
const MIN_PROGRESS = 20

export function Toasts() {
  return (
    <>
      <div class="toasts">
        <div role="status">
          {announcement.value && <p class="toast row">{announcement.value}</p>}
          <DeleteToast />
        </div>
        <UndoToast />
      </div>
      <p class="unseen" role="status">
        {quietAnnouncement.value}
      </p>
    </>
  )
}

function UndoToast() {
  const count = undoableCount.value
  return (
    <div role="status">
      {count > 0 && (
        <p
          class="toast row"
          onPointerEnter={pauseUndo}
          onPointerLeave={resumeUndo}
          onFocusCapture={pauseUndo}
          onBlurCapture={resumeUndo}
        >
          {t('inbox_deleted', { count })}
          <Button class="quiet small" onClick={() => thenFocusList(undo)}>
            {t('inbox_undo')}
          </Button>
        </p>
      )}
    </div>
  )
}

/** The focus would be lost with the button. */
function thenFocusList(operation: () => void): void {
  operation()
  focusList()
}

function DeleteToast() {
  const { done, total } = deleteProgress.value ?? { done: 0, total: 0 }
  const failed = failedDeletions.value.length
  if (failed > 0)
    return (
      <p class="toast row">
        {t('inbox_delete_failed', { count: failed })}
        <Button class="quiet small" onClick={() => thenFocusList(retryFailed)}>
          {t('inbox_retry_now')}
        </Button>
      </p>
    )
  if (total < MIN_PROGRESS) return null
  return (
    <p class="toast row">
      {t('inbox_deleting', { done, total })}
      <progress value={done} max={total} aria-label={t('inbox_deleting', { done, total })} />
    </p>
  )
}

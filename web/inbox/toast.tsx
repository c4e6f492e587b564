import { useEffect } from 'preact/hooks'
import { announcement, quietAnnouncement } from '../site/announce.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { focusList } from './actions.ts'
import { failed, pauseUndo, resumeUndo, storeAndSend, undo, undoable } from './deletions.ts'
import { arrivalElsewhere, hideArrival } from './notifications.ts'
import { openMessageOf } from './open-message.ts'
import './toast.css'

export function Toasts() {
  return (
    <>
      <div class="toasts">
        <div role="status">
          {announcement.value && <p class="toast row">{announcement.value}</p>}
          <DeleteToast />
          <ArrivalToast />
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
  const count = undoable.value.flatMap(({ ids }) => ids).length
  const isAll = undoable.value.some(({ upToId }) => upToId !== undefined)
  // The row that has the focus now may be under the toast.
  useEffect(() => {
    document.activeElement?.closest('.mail')?.scrollIntoView({ block: 'nearest' })
  }, [count])
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
          {isAll ? t('inbox_deleted_all') : t('inbox_deleted', { count })}
          <Button class="quiet small" onClick={() => thenFocusList(undo)}>
            {t('inbox_undo')}
          </Button>
        </p>
      )}
    </div>
  )
}

/** New mail of an address that is not shown. */
function ArrivalToast() {
  const arrival = arrivalElsewhere.value
  if (!arrival) return null
  return (
    <p class="toast row">
      {arrival.text}
      <Button
        class="quiet small"
        onClick={() => {
          hideArrival()
          openMessageOf(arrival.mailbox, arrival.id)
        }}
      >
        {t('site_open')}
      </Button>
    </p>
  )
}

/** The focus would be lost with the button. */
function thenFocusList(operation: () => void): void {
  operation()
  focusList()
}

function DeleteToast() {
  if (failed.value.length === 0) return null
  // What is left of an earlier visit is not counted.
  const count = failed.value.flatMap(({ ids }) => ids).length || 1
  return (
    <p class="toast row">
      {t('inbox_delete_failed', { count })}
      <Button class="quiet small" onClick={() => thenFocusList(() => storeAndSend(failed.value))}>
        {t('inbox_retry_now')}
      </Button>
    </p>
  )
}

import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ApiResponses } from '../site/api.ts'
import { ApiError, errorText, requestJson } from '../site/api-client.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { formatDateTime } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import { loadUsage, storedKey, storeKey } from './key-state.ts'
import { KeyDisplay } from './secrets.tsx'

type RolledKey = ApiResponses['POST /api/roll-key']

const isDialogOpen = signal(false)
const rolling = signal(false)
const rollError = signal('')
/** The new key, while it is shown. */
export const rolledKey = signal<RolledKey | undefined>(undefined)

export function RollButton() {
  return (
    <>
      <Button class="plain" onClick={openDialog}>
        {t('key_roll')}
      </Button>
      {isDialogOpen.value && <RollDialog />}
    </>
  )
}

function openDialog(): void {
  rollError.value = ''
  isDialogOpen.value = true
}

function RollDialog() {
  const close = () => {
    isDialogOpen.value = false
  }
  return (
    <Dialog title={t('key_roll_title')} onClose={close}>
      <p>{t('key_roll_how')}</p>
      <p class="soft">{t('key_roll_limit')}</p>
      <ErrorMessage error={rollError.value} />
      <div class="row">
        <Button disabled={rolling.value} onClick={() => void roll()}>
          {t('key_roll_yes')}
        </Button>
        <Button class="plain" onClick={close}>
          {t('site_cancel')}
        </Button>
      </div>
    </Dialog>
  )
}

async function roll(): Promise<void> {
  if (rolling.value) return
  rolling.value = true
  try {
    const headers = { apikey: storedKey.value }
    const made = await requestJson<RolledKey>('/api/roll-key', { method: 'POST', headers })
    storeKey(made.key)
    isDialogOpen.value = false
    rolledKey.value = made
    void loadUsage()
  } catch (found) {
    const isOld = found instanceof ApiError && found.code === 'already_rolled'
    rollError.value = isOld ? t('key_rolled_already') : errorText(found)
  } finally {
    rolling.value = false
  }
}

export function RolledKeyView({ made }: { made: RolledKey }) {
  const place = useRef<HTMLElement>(null)
  // After the dialog has closed and returned the focus to its button.
  useEffect(() => {
    const later = setTimeout(() => place.current?.focus())
    return () => clearTimeout(later)
  }, [])
  return (
    <section class="panel stack key-new" ref={place} tabIndex={-1} aria-label={t('key_rolled')}>
      <p class="notice good">
        {t('key_rolled')} {t('key_rolled_until', { time: formatDateTime(made.former_until_iso) })}
      </p>
      <KeyDisplay apiKey={made.key} name={`mayfly-key-${made.key_id}`} />
    </section>
  )
}

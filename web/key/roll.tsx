import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useAction } from '../site/action.tsx'
import type { RolledKey } from '../site/api.ts'
import { Button } from '../site/controls.tsx'
import { ConfirmDialog } from '../site/dialog.tsx'
import { errorTexts } from '../site/error-texts.ts'
import { formatDateTime } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import { loadUsage, requestWithKey, storeKey } from './key-state.ts'
import { KeyDisplay } from './secrets.tsx'

/** The new key, while it is shown. */
export const rolledKey = signal<RolledKey | undefined>(undefined)

export function RollButton() {
  const [isOpen, setOpen] = useState(false)
  const { isBusy, error, run } = useAction({ shown: rollError })

  async function roll(): Promise<string> {
    const made = await requestWithKey<RolledKey>('/api/roll-key', {})
    storeKey(made.key)
    setOpen(false)
    rolledKey.value = made
    void loadUsage()
    return ''
  }

  return (
    <>
      <Button class="plain" onClick={() => setOpen(true)}>
        {t('key_roll')}
      </Button>
      {isOpen && (
        <ConfirmDialog
          title={t('key_roll_title')}
          action={t('key_roll_yes')}
          error={error}
          onConfirm={() => void (isBusy || run(roll))}
          onClose={() => setOpen(false)}
        >
          <p>
            {t('key_roll_how')} <span class="soft">{t('key_roll_limit')}</span>
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

const rollError = errorTexts({ already_rolled: 'key_rolled_already' })

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

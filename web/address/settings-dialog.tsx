import { useId, useState } from 'preact/hooks'
import { parseSenderList } from '../../src/shared/address-rules.ts'
import { useAction } from '../site/action.tsx'
import { announce } from '../site/announce.ts'
import { Button, ErrorMessage, Field, Form, Select } from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { t } from '../site/i18n.ts'
import { changeSettings } from './actions.ts'
import { limits, TextField } from './custom-address.tsx'
import type { Mailbox } from './mailbox.ts'
import { rulesByAddress } from './mailboxes.ts'
import type { SessionSettings } from './session-api.ts'

// As the server.
const MAX_LABEL = 60

interface SettingsDialogProps {
  mailbox: Mailbox
  /** What the address could be labelled. */
  proposal: string | undefined
  onClose(): void
}

/** Changes the label and the rules of an address. */
export function SettingsDialog({ mailbox, proposal, onClose }: SettingsDialogProps) {
  const id = useId()
  const rules = rulesByAddress.value.get(mailbox.email)
  const [before] = useState({
    label: mailbox.label ?? '',
    only_from: rules?.only_from.join(', ') ?? '',
    max_messages: String(rules?.max_messages ?? ''),
  })
  const [values, setValues] = useState(before)
  const [isInvalid, setInvalid] = useState(false)
  const { isBusy, error, run } = useAction()
  const change = (changed: Partial<typeof before>) => {
    setValues({ ...values, ...changed })
    setInvalid(false)
  }

  const save = async () => {
    const changed = changesOf(before, values)
    if (Object.keys(changed).length > 0) await changeSettings(mailbox, changed)
    announce(t('address_settings_saved'))
    onClose()
    return ''
  }
  const submit = () => {
    const senders = values.only_from.trim()
    if (senders === '' || parseSenderList(senders)) void run(save)
    else setInvalid(true)
  }
  return (
    <Dialog title={t('address_settings')} onClose={onClose}>
      <Form onSubmit={() => !isBusy && submit()}>
        <TextField
          label={t('address_form_label')}
          hint={t('address_form_label_hint')}
          value={values.label}
          error=""
          dir="auto"
          maxLength={MAX_LABEL}
          autofocus
          onInput={(label) => change({ label })}
        />
        {proposal && values.label === '' && (
          <p>
            <Button class="plain small" onClick={() => change({ label: proposal })}>
              {t('address_label_add', { label: proposal })}
            </Button>
          </p>
        )}
        <TextField
          label={t('address_form_only_from')}
          hint={t('address_form_only_from_hint')}
          value={values.only_from}
          error={isInvalid ? t('address_form_only_from_invalid') : ''}
          onInput={(senders) => change({ only_from: senders })}
        />
        <Field id={`${id}-limit`} label={t('address_form_limit')}>
          <Select
            id={`${id}-limit`}
            options={limits(rules?.max_messages)}
            value={values.max_messages}
            onChoose={(limit) => change({ max_messages: limit })}
          />
        </Field>
        {rules && rules.refused > 0 && (
          <p class="soft">{t('address_refused', { count: rules.refused })}</p>
        )}
        <ErrorMessage error={error} />
        <button type="submit" disabled={isBusy}>
          {t('address_settings_save')}
        </button>
      </Form>
    </Dialog>
  )
}

function changesOf<T extends SessionSettings>(before: T, after: T): SessionSettings {
  const names = Object.keys(after) as (keyof SessionSettings)[]
  return Object.fromEntries(
    names
      .map((name) => [name, after[name]?.trim() ?? ''] as const)
      .filter(([name, value]) => value !== before[name]),
  )
}

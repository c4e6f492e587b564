import { useRef } from 'preact/hooks'
import type { OwnDomain } from '../site/api.ts'
import { CopyButton } from '../site/copy-button.tsx'
import { t } from '../site/i18n.ts'
import './dns-records.css'

/** To be entered at a DNS provider: each part is a field of its form, and can be copied alone. */
export function Records({ records }: Pick<OwnDomain, 'records'>) {
  return (
    <ul class="records" aria-label={t('own_records')}>
      {records.map(({ type, name, value }) => (
        <li key={type}>
          <strong>{type}</strong>
          <RecordPart label={t('address_form_name')} text={name} type={type} />
          <RecordPart label={t('own_record_value')} text={value} type={type} />
        </li>
      ))}
    </ul>
  )
}

function RecordPart({ label, text, type }: { label: string; text: string; type: string }) {
  const code = useRef<HTMLElement>(null)
  return (
    <div class="record-part">
      <span class="soft">{label}</span>
      <code ref={code}>{text}</code>
      <CopyButton
        text={text}
        textRef={code}
        label={`${type}, ${label}`}
        isIcon
        class="quiet icon"
      />
    </div>
  )
}

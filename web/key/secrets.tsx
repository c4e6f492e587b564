import { useSignal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../site/copy-button.tsx'
import { t } from '../site/i18n.ts'
import './secret-sample.css'
import './key-shown.css'

interface SecretSampleProps {
  text: string
  /** What of it is not shown until the reader asks; copied it is whole. */
  secret: string
  /** What it is, for the copy button. */
  label: string
}

/** A text to be copied, in which a secret stands. */
export function SecretSample({ text, secret, label }: SecretSampleProps) {
  const revealed = useSignal(false)
  const code = useRef<HTMLElement>(null)
  const isMaskable = secret !== '' && text.includes(secret)
  const shown = isMaskable && !revealed.value ? text.replaceAll(secret, masked(secret)) : text
  return (
    <div class="secret-sample">
      <pre>
        <code ref={code}>{shown}</code>
      </pre>
      <div class="row">
        <CopyButton text={text} textRef={code} label={label} />
        {isMaskable && (
          <button
            type="button"
            class="quiet"
            aria-pressed={revealed.value}
            onClick={() => {
              revealed.value = !revealed.value
            }}
          >
            {t(revealed.value ? 'key_hide_secret' : 'key_show_secret')}
          </button>
        )}
      </div>
    </div>
  )
}

interface KeyDisplayProps {
  apiKey: string
  /** What its file is called, without the ending. */
  name: string
}

/** A new key, to be copied or saved: it is not shown again. */
export function KeyDisplay({ apiKey, name }: KeyDisplayProps) {
  const text = useRef<HTMLElement>(null)
  const file = useObjectUrl(`${apiKey}\n`)
  return (
    <>
      <pre>
        <code class="key-shown" ref={text}>
          {apiKey}
        </code>
      </pre>
      <div class="row">
        <CopyButton text={apiKey} textRef={text} label={t('shop_key_label')} class="" />
        <a class="button plain" href={file} download={`${name}.txt`}>
          {t('shop_download')}
        </a>
      </div>
    </>
  )
}

/** The address of a text that is made into a file, as long as it is on the page. */
function useObjectUrl(text: string): string {
  const [url] = useState(() => URL.createObjectURL(new Blob([text], { type: 'text/plain' })))
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return url
}

/** As much of a key as may be seen by who looks over a shoulder: what every key has, and the four that name it. */
export function masked(secret: string): string {
  const shown = /^mf_[a-z]+_.{4}/.exec(secret)?.[0] ?? secret.slice(0, 4)
  return `${shown}${'•'.repeat(8)}`
}

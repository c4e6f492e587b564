import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Button } from '../site/controls.tsx'
import { CopyButton } from '../site/copy-button.tsx'
import { t } from '../site/i18n.ts'
import './secrets.css'

interface SecretSampleProps {
  text: string
  /** Masked until the reader reveals it; the copied text is complete. */
  secret: string
  /** Label of the copy button. */
  label: string
}

/** A text to copy that contains a secret. */
export function SecretSample({ text, secret, label }: SecretSampleProps) {
  const [isRevealed, reveal] = useState(false)
  const code = useRef<HTMLElement>(null)
  const isMaskable = secret !== '' && text.includes(secret)
  const shown = isMaskable && !isRevealed ? text.replaceAll(secret, masked(secret)) : text
  return (
    <div class="secret-sample">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre tabIndex={0}>
        <code ref={code}>{shown}</code>
      </pre>
      <div class="row">
        <CopyButton text={text} textRef={code} label={label} />
        {isMaskable && (
          <Button class="quiet" aria-pressed={isRevealed} onClick={() => reveal(!isRevealed)}>
            {t(isRevealed ? 'key_hide_secret' : 'key_show_secret')}
          </Button>
        )}
      </div>
    </div>
  )
}

interface KeyDisplayProps {
  apiKey: string
  /** File name of the download, without extension. */
  name: string
}

/** A new key, to copy or download: it is not shown again. */
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

/** An object URL, revoked when the component unmounts. */
export function useObjectUrl(content: Blob | string): string {
  const url = useMemo(() => {
    const isText = typeof content === 'string'
    return URL.createObjectURL(isText ? new Blob([content], { type: 'text/plain' }) : content)
  }, [content])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return url
}

/** The type prefix and four characters, enough to recognise a key. */
export function masked(secret: string): string {
  const shown = /^mf_[a-z]+_.{4}/.exec(secret)?.[0] ?? secret.slice(0, 4)
  return `${shown}${'•'.repeat(8)}`
}

import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../site/copy-button.tsx'
import { say } from '../site/words.ts'
import './key-shown.css'

interface KeyShownProps {
  apiKey: string
  /** What its file is called, without the ending. */
  name: string
}

/** A new key, to be copied or saved: it is not shown again. */
export function KeyShown({ apiKey, name }: KeyShownProps) {
  const text = useRef<HTMLElement>(null)
  const file = useFile(`${apiKey}\n`)
  return (
    <>
      <pre>
        <code class="key-shown" ref={text}>
          {apiKey}
        </code>
      </pre>
      <div class="row">
        <CopyButton text={apiKey} marks={text} label={say('shop_key')} class="" />
        <a class="button plain" href={file} download={`${name}.txt`}>
          {say('shop_download')}
        </a>
      </div>
    </>
  )
}

/** The address of a text that is made into a file, as long as it is on the page. */
function useFile(text: string): string {
  const [url] = useState(() => URL.createObjectURL(new Blob([text], { type: 'text/plain' })))
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return url
}

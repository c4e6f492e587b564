import { useEffect, useState } from 'preact/hooks'
import type { Answers } from '../site/api.ts'
import { ask, send } from '../site/ask.ts'
import { faultWords } from '../site/fault-words.ts'
import type { Message } from '../site/shapes.ts'
import { sizeText } from '../site/size-text.ts'
import { language, say } from '../site/words.ts'

interface SourceProps {
  message: Message
  token: string
}

type Headers = NonNullable<Message['headers']>

/** Every header line, in order. Asked for when it is looked at. */
export function HeadersView({ message: { id }, token }: SourceProps) {
  const found = useFetched<Headers>(`headers ${id}`, async (signal) => {
    const values = { id, headers: 1 }
    const answer = await ask<Answers['GET /api/read-mail']>('/api/read-mail', {
      token,
      values,
      signal,
    })
    return answer.message.headers ?? []
  })
  if (found.kind !== 'here') return <Meanwhile found={found} />
  if (found.value.length === 0) return <p class="soft reader-wait">{say('reader_headers_empty')}</p>
  return (
    <dl class="mail-headers" dir="ltr">
      {found.value.map(({ name, value }, at) => (
        <div key={at}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** The mail as it came, from its beginning. */
export function RawView({ message: { id, raw_url: path, size }, token }: SourceProps) {
  const found = useFetched<Start>(`raw ${id}`, async (signal) =>
    startOf(await send(path, { token, signal })),
  )
  if (found.kind !== 'here') return <Meanwhile found={found} />
  const { text, cut } = found.value
  const sizes = {
    shown: sizeText(MAX_SHOWN, language.value),
    size: sizeText(size, language.value),
  }
  return (
    <>
      {cut && <p class="notice">{say('reader_raw_cut', sizes)}</p>}
      <pre class="mail-raw" dir="ltr">
        {text}
      </pre>
    </>
  )
}

const MAX_SHOWN = 256_000

interface Start {
  text: string
  cut: boolean
}

/** The rest is not even fetched. */
async function startOf({ body }: Response): Promise<Start> {
  const pieces: Uint8Array[] = []
  let size = 0
  const reader = body?.getReader()
  while (reader && size <= MAX_SHOWN) {
    const { done, value } = await reader.read()
    if (done) break
    pieces.push(value)
    size += value.length
  }
  const cut = size > MAX_SHOWN
  if (cut) await reader?.cancel()
  const bytes = new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer())
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_SHOWN))
  return { text: text.replaceAll('\r\n', '\n'), cut }
}

type Fetched<T> =
  | { kind: 'loading' }
  | { kind: 'here'; value: T }
  | { kind: 'fault'; words: string; again(): void }

function useFetched<T>(name: string, fetch: (signal: AbortSignal) => Promise<T>): Fetched<T> {
  const [found, setFound] = useState<Fetched<T>>({ kind: 'loading' })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    setFound({ kind: 'loading' })
    fetch(leaving.signal).then(
      (value) => setFound({ kind: 'here', value }),
      (fault) => {
        if (leaving.signal.aborted) return
        setFound({ kind: 'fault', words: faultWords(fault), again: () => setAttempt(attempt + 1) })
      },
    )
    return () => leaving.abort()
  }, [name, attempt])
  return found
}

function Meanwhile({ found }: { found: Exclude<Fetched<unknown>, { kind: 'here' }> }) {
  if (found.kind === 'loading') return <p class="soft reader-wait">{say('reader_loading')}</p>
  return (
    <div class="reader-wait" role="alert">
      <p class="fault">{found.words}</p>
      <button type="button" class="plain" onClick={found.again}>
        {say('reader_again')}
      </button>
    </div>
  )
}

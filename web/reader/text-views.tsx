import { useEffect, useState } from 'preact/hooks'
import type { Answers } from '../site/api.ts'
import { errorText, type Message, request, requestJson } from '../site/api-client.ts'
import { formatSize } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { leavePath } from '../site/link-target.ts'
import { autolink } from './autolink.ts'

// More than anybody reads, and what a page can take.
const MAX_TEXT = 300_000

/** A mail as plain text, with its addresses as links. */
export function TextView({ text }: { text: string | null }) {
  if (!text?.trim()) return <p class="soft reader-wait">{t('reader_text_empty')}</p>
  return (
    <>
      {text.length > MAX_TEXT && <p class="notice">{t('reader_text_cut')}</p>}
      <div class="mail-text" dir="auto">
        {autolink(text.slice(0, MAX_TEXT)).map((piece, at) =>
          typeof piece === 'string' ? (
            piece
          ) : (
            <a key={at} href={leavePath(piece.url)} target="_blank" rel="noopener noreferrer">
              {piece.url}
            </a>
          ),
        )}
      </div>
    </>
  )
}

interface SourceProps {
  message: Message
  token: string
}

type Headers = NonNullable<Message['headers']>

/** Every header line, in order. Asked for when it is looked at. */
export function HeadersView({ message: { id }, token }: SourceProps) {
  const found = useFetched<Headers>(`headers ${id}`, async (signal) => {
    const values = { id, headers: 1 }
    const answer = await requestJson<Answers['GET /api/read-mail']>('/api/read-mail', {
      token,
      values,
      signal,
    })
    return answer.message.headers ?? []
  })
  if (found.kind !== 'here') return <SourceLoading found={found} />
  if (found.value.length === 0) return <p class="soft reader-wait">{t('reader_headers_empty')}</p>
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
  const found = useFetched<RawStart>(`raw ${id}`, async (signal) =>
    readStart(await request(path, { token, signal })),
  )
  if (found.kind !== 'here') return <SourceLoading found={found} />
  const { text, cut } = found.value
  const sizes = {
    shown: formatSize(MAX_RAW_BYTES, language.value),
    size: formatSize(size, language.value),
  }
  return (
    <>
      {cut && <p class="notice">{t('reader_raw_cut', sizes)}</p>}
      <pre class="mail-raw" dir="ltr">
        {text}
      </pre>
    </>
  )
}

const MAX_RAW_BYTES = 256_000

interface RawStart {
  text: string
  cut: boolean
}

/** The rest is not even fetched. */
async function readStart({ body }: Response): Promise<RawStart> {
  const pieces: Uint8Array[] = []
  let size = 0
  const reader = body?.getReader()
  while (reader && size <= MAX_RAW_BYTES) {
    const { done, value } = await reader.read()
    if (done) break
    pieces.push(value)
    size += value.length
  }
  const cut = size > MAX_RAW_BYTES
  if (cut) await reader?.cancel()
  const bytes = new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer())
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_RAW_BYTES))
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
        setFound({ kind: 'fault', words: errorText(fault), again: () => setAttempt(attempt + 1) })
      },
    )
    return () => leaving.abort()
  }, [name, attempt])
  return found
}

function SourceLoading({ found }: { found: Exclude<Fetched<unknown>, { kind: 'here' }> }) {
  if (found.kind === 'loading') return <p class="soft reader-wait">{t('reader_loading')}</p>
  return (
    <div class="reader-wait" role="alert">
      <p class="fault">{found.words}</p>
      <button type="button" class="plain" onClick={found.again}>
        {t('reader_again')}
      </button>
    </div>
  )
}

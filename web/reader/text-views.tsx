import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import type { Message } from '../site/api.ts'
import { chunksOf, request } from '../site/api-client.ts'
import { CopyButton } from '../site/copy-button.tsx'
import { language, t } from '../site/i18n.ts'
import { leavePath } from '../site/link-target.ts'
import { autolink } from './autolink.ts'
import { LoadingOrError, useFetched } from './use-fetched.tsx'
import { readMail } from './use-message.ts'

// More than anyone reads, and what a browser renders quickly.
const MAX_TEXT = 300_000

export function TextView({ text }: { text: string | null }) {
  if (!text?.trim()) return <p class="soft reader-wait">{t('reader_text_empty')}</p>
  return (
    <>
      {text.length > MAX_TEXT && <p class="notice">{t('reader_text_truncated')}</p>}
      <div class="mail-text" dir="auto">
        {autolink(text.slice(0, MAX_TEXT)).map((piece, index) =>
          typeof piece === 'string' ? (
            piece
          ) : (
            <a key={index} href={leavePath(piece.url)} target="_blank" rel="noopener noreferrer">
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

export function HeadersView({ message: { id }, token }: SourceProps) {
  const fetched = useFetched<Headers>(`headers ${id}`, async (signal) => {
    const { headers } = await readMail({ id, headers: 1 }, token, signal)
    return headers ?? []
  })
  if (fetched.kind !== 'loaded') return <LoadingOrError fetched={fetched} />
  if (fetched.value.length === 0) return <p class="soft reader-wait">{t('reader_headers_empty')}</p>
  const text = fetched.value.map(({ name, value }) => `${name}: ${value}`).join('\n')
  return (
    <Copied text={text} label={t('reader_view_headers')}>
      <dl class="mail-headers" dir="ltr">
        {fetched.value.map(({ name, value }, index) => (
          <div key={index}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Copied>
  )
}

/** The HTML as the sender wrote it, decoded. */
export function HtmlSource({ html }: { html: string }) {
  return (
    <>
      {html.length > MAX_TEXT && <p class="notice">{t('reader_text_truncated')}</p>}
      <Copied text={html} label={t('reader_view_code')}>
        <pre class="mail-raw" dir="ltr">
          {html.slice(0, MAX_TEXT)}
        </pre>
      </Copied>
    </>
  )
}

interface CopiedProps {
  text: string
  /** For screen readers: what is copied. */
  label: string
  children: ComponentChildren
}

/** Source with a button that copies all of it. */
function Copied({ text, label, children }: CopiedProps) {
  const textRef = useRef<HTMLDivElement>(null)
  return (
    <>
      <div class="source-tools">
        <CopyButton text={text} textRef={textRef} label={label} class="plain small" />
      </div>
      <div ref={textRef}>{children}</div>
    </>
  )
}

export function RawView({ message: { id, raw_url: path, size }, token }: SourceProps) {
  const fetched = useFetched<RawStart>(`raw ${id}`, async (signal) =>
    readStart(await request(path, { token, signal })),
  )
  if (fetched.kind !== 'loaded') return <LoadingOrError fetched={fetched} />
  const { text, isTruncated } = fetched.value
  const sizes = {
    shown: formatSize(MAX_RAW_BYTES, language.value),
    size: formatSize(size, language.value),
  }
  return (
    <>
      {isTruncated && <p class="notice">{t('reader_source_truncated', sizes)}</p>}
      <Copied text={text} label={t('reader_view_raw')}>
        <pre class="mail-raw" dir="ltr">
          {text}
        </pre>
      </Copied>
    </>
  )
}

const MAX_RAW_BYTES = 256_000

interface RawStart {
  text: string
  isTruncated: boolean
}

/** Does not download the rest. */
async function readStart(response: Response): Promise<RawStart> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for await (const chunk of chunksOf(response)) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_RAW_BYTES) break
  }
  const isTruncated = size > MAX_RAW_BYTES
  const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer())
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_RAW_BYTES))
  return { text: text.replaceAll('\r\n', '\n'), isTruncated }
}

import { chunksOf, NetworkError, rejectInvalidSecrets } from '../site/api-client.ts'
import type { ApiRequest } from './request.ts'

export interface ApiResponse {
  status: number
  statusText: string
  tookMs: number
  headers: [name: string, value: string][]
  body: ResponseBody
}

export type ResponseBody =
  | { kind: 'none' }
  | { kind: 'json'; text: string; value: unknown }
  | { kind: 'text'; text: string; cut: boolean }
  | { kind: 'file'; blob: Blob; name: string }
  | { kind: 'stream'; events: AsyncIterable<string> }

/** The headers worth showing; the others are the same for every response. */
const SHOWN_HEADERS =
  /^(content-type|content-disposition|etag|link|location|allow|retry-after|ratelimit.*|x-ratelimit-.*|x-request-id|x-timed-out)$/
const MAX_CHARACTERS = 100_000

/** Unlike api-client.ts, an error response is returned like any other, with its headers. */
export async function sendRequest(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse> {
  const { method, path, headers, form } = request
  rejectInvalidSecrets(headers)
  const body = form ? { body: form } : {}
  const startedAt = performance.now()
  try {
    const options = { method, headers, signal, cache: 'no-store', credentials: 'omit' } as const
    const response = await fetch(path, { ...options, ...body })
    return {
      status: response.status,
      statusText: response.statusText,
      tookMs: Math.round(performance.now() - startedAt),
      headers: [...response.headers].filter(([name]) => SHOWN_HEADERS.test(name)),
      body: await bodyOf(response),
    }
  } catch (cause) {
    if (signal.aborted) throw cause
    throw new NetworkError('the site could not be reached', { cause })
  }
}

async function bodyOf(response: Response): Promise<ResponseBody> {
  const type = response.headers.get('content-type') ?? ''
  const disposition = response.headers.get('content-disposition') ?? ''
  if (type.startsWith('text/event-stream')) {
    return { kind: 'stream', events: eventTexts(response) }
  }
  if (disposition.startsWith('attachment')) {
    return { kind: 'file', blob: await response.blob(), name: filenameOf(disposition) }
  }
  const text = await response.text()
  if (text === '') return { kind: 'none' }
  return type.startsWith('application/json') ? jsonBody(text) : textBody(text)
}

function jsonBody(text: string): ResponseBody {
  const value: unknown = JSON.parse(text)
  const pretty = JSON.stringify(value, undefined, 2)
  return pretty.length > MAX_CHARACTERS ? textBody(pretty) : { kind: 'json', text: pretty, value }
}

function textBody(text: string): ResponseBody {
  return { kind: 'text', text: text.slice(0, MAX_CHARACTERS), cut: text.length > MAX_CHARACTERS }
}

/** RFC 6266: the server sends the name twice, in ASCII and as UTF-8. */
function filenameOf(disposition: string): string {
  const wide = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1]
  if (wide) return decodeURIComponent(wide)
  return /filename="([^"]*)"/.exec(disposition)?.[1] ?? 'download'
}

/** Each event as it was sent, without the heartbeat comments. */
async function* eventTexts(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunksOf(response)) {
    const blocks = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n\n')
    rest = blocks.pop() ?? ''
    yield* blocks.filter((block) => block !== '' && !block.startsWith(':'))
  }
}

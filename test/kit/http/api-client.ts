import type { Link } from '../../../src/shared/mail.ts'
import { waitUntil } from '../wait-until.ts'
import { request, type TestResponse } from './http-client.ts'

/** The API from the client's side. */
export interface MessageSummary {
  id: number
  subject: string
  sender_email: string
  received_at: string
  /** Null until the mail is parsed. */
  preview: string | null
}

export async function createSession(
  url: string,
  params: Record<string, string> = {},
): Promise<{ email: string; token: string }> {
  const body = new URLSearchParams(params)
  const response = await fetch(`${url}/api/create-session`, { method: 'POST', body })
  if (response.status !== 200) throw new Error(await response.text())
  return (await response.json()) as { email: string; token: string }
}

export async function checkMail(url: string, token: string, query = ''): Promise<MessageSummary[]> {
  const response = await fetch(`${url}/api/check-mail?token=${token}${query}`)
  if (response.status !== 200) throw new Error(await response.text())
  return ((await response.json()) as { messages: MessageSummary[] }).messages
}

/** The mail as it was received, without the trace headers that raw-mail adds. */
export async function rawMail(url: string, token: string, id: number): Promise<Buffer> {
  const response = await fetch(`${url}/api/raw-mail?token=${token}&id=${id}`)
  if (response.status !== 200) throw new Error(await response.text())
  return stripTraceHeaders(Buffer.from(await response.arrayBuffer()))
}

/** Return-Path (absent from fetched mail) and Delivered-To are one line each; Received may be folded. */
export function stripTraceHeaders(bytes: Buffer): Buffer {
  const ours =
    /^(?:Return-Path:[^\n]*\r\n)?Delivered-To:[^\n]*\r\nReceived:[^\n]*\r\n(?:[ \t][^\n]*\r\n)*/
  const match = ours.exec(bytes.subarray(0, 4_000).toString('latin1'))
  if (!match) throw new Error('raw-mail does not start with our lines')
  return bytes.subarray(match[0].length)
}

/** A response of /emails from the client's side. */
export interface EmailsElement {
  address?: string
  emails: Email[]
}

export interface Email {
  id: number
  from: string
  to: string
  subject: string
  date: string
  date_iso: string
  body: string
  truncated?: true
  code: string | null
  links: Link[]
  attachments: number
  has_html: boolean
}

export function emailsElements({ status, text }: TestResponse): EmailsElement[] {
  if (status !== 200) throw new Error(`${status} ${text}`)
  return JSON.parse(text) as EmailsElement[]
}

/** For all recipients, newest first. */
export function emailsOf(response: TestResponse): Email[] {
  return emailsElements(response).flatMap(({ emails }) => emails)
}

// Longer than any test needs.
const STREAM_MS = 120_000

/** The event stream of a session, or of several, and the text received since the last `clear`. */
export async function openEventStream(
  url: string,
  token: string | readonly string[],
  headers: Record<string, string> = {},
) {
  const signal = AbortSignal.timeout(STREAM_MS)
  const query = typeof token === 'string' ? `token=${token}` : `tokens=${token}`
  const { body } = await fetch(`${url}/api/events?${query}`, { headers, signal })
  if (!body) throw new Error('the stream has no body')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let received = ''
  return {
    received: () => received,
    clear() {
      received = ''
    },
    async waitFor(pattern: RegExp): Promise<void> {
      while (!pattern.test(received)) {
        const { done, value } = await reader.read()
        if (done) throw new Error(`the stream ended: ${received}`)
        received += value
      }
    },
    async waitForEnd(): Promise<void> {
      for (let read = await reader.read(); !read.done; read = await reader.read())
        received += read.value
    },
    end: () => reader.cancel(),
  }
}

/** Resolves when this many long polls are pending. `headers`: the admin token, if there is one. */
export async function waitForLongPolls(
  count: number,
  { url, headers = {} }: { url: string; headers?: Record<string, string> },
): Promise<void> {
  const read = async () => (await request(`${url}/metrics`, { headers })).text
  const waiters = async () => Number(/^mayfly_http_waiting (\d+)$/m.exec(await read())?.[1])
  await waitUntil(async () => (await waiters()) === count)
}

import { useEffect, useState } from 'preact/hooks'
import type { Answers } from '../site/api.ts'
import {
  ApiError,
  errorText,
  type Message,
  type MessageSummary,
  requestJson,
} from '../site/api-client.ts'
import { siteConfig } from '../site/site-config.ts'

/** What is known of the whole message. */
export type LoadState =
  | { kind: 'loading' }
  /** `isChecking`: what is not known of the sender yet may still come. */
  | { kind: 'here'; message: Message; isChecking: boolean }
  | { kind: 'gone' }
  | { kind: 'fault'; words: string; again(): void }

// So long the check of a sender takes, mostly.
const CHECK_MS = 4_000

/** The message behind a summary; asked for anew when another one is opened. */
export function useMessage(token: string, summary: MessageSummary): LoadState {
  const [reading, setReading] = useState<LoadState & { of?: number }>({ kind: 'loading' })
  const [attempt, setAttempt] = useState(0)
  const { id } = summary

  useEffect(() => {
    const { signal, abort } = abortable()
    setReading({ kind: 'loading' })
    readMail({ token, id }, signal).then(
      (message) => setReading({ kind: 'here', of: id, message, isChecking: siteConfig.checks }),
      (fault) => {
        if (signal.aborted) return
        if (fault instanceof ApiError && fault.code === 'message_not_found')
          setReading({ kind: 'gone', of: id })
        else
          setReading({
            kind: 'fault',
            of: id,
            words: errorText(fault),
            again: () => setAttempt(attempt + 1),
          })
      },
    )
    return abort
  }, [token, id, attempt])

  const isAwaitingCheck =
    reading.kind === 'here' && reading.message.auth === null && siteConfig.checks
  useEffect(() => {
    if (!isAwaitingCheck) return
    const { signal, abort } = abortable()
    const later = setTimeout(() => {
      readMail({ token, id }, signal).then(
        // Only this: all else stays as it is on the page.
        ({ auth }) => setReading((now) => withAuth(now, auth)),
        // It was worth a question, not more: the message is readable without.
        () => setReading((now) => withAuth(now, null)),
      )
    }, CHECK_MS)
    return () => {
      clearTimeout(later)
      abort()
    }
    // The summary is another object when the server has told something new of it.
  }, [token, id, isAwaitingCheck, summary])

  // For the moment between another summary and the first answer about it.
  return reading.of === id ? reading : { kind: 'loading' }
}

function withAuth<T extends LoadState>(reading: T, auth: Message['auth']): T {
  if (reading.kind !== 'here') return reading
  // Many a sender is never checked: whoever fetched his mail from elsewhere cannot do it.
  return { ...reading, message: { ...reading.message, auth }, isChecking: false }
}

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

async function readMail(
  { token, id }: { token: string; id: number },
  signal: AbortSignal,
): Promise<Message> {
  const answer = await requestJson<Answers['GET /api/read-mail']>('/api/read-mail', {
    token,
    values: { id },
    signal,
  })
  return answer.message
}

import { useEffect, useState } from 'preact/hooks'
import type { Answers } from '../site/api.ts'
import { ask, Refusal } from '../site/ask.ts'
import { facts } from '../site/facts.ts'
import { faultWords } from '../site/fault-words.ts'
import type { Message, Summary } from '../site/shapes.ts'

/** What is known of the whole message. */
export type Reading =
  | { kind: 'loading' }
  /** `isChecking`: what is not known of the sender yet may still come. */
  | { kind: 'here'; message: Message; isChecking: boolean }
  | { kind: 'gone' }
  | { kind: 'fault'; words: string; again(): void }

// So long the check of a sender takes, mostly.
const CHECK_MS = 4_000

/** The message behind a summary; asked for anew when another one is opened. */
export function useMessage(token: string, summary: Summary): Reading {
  const [reading, tell] = useState<Reading & { of?: number }>({ kind: 'loading' })
  const [attempt, setAttempt] = useState(0)
  const { id } = summary

  useEffect(() => {
    const { signal, abort } = leaving()
    tell({ kind: 'loading' })
    readMail({ token, id }, signal).then(
      (message) => tell({ kind: 'here', of: id, message, isChecking: facts.checks }),
      (fault) => {
        if (signal.aborted) return
        if (fault instanceof Refusal && fault.code === 'message_not_found')
          tell({ kind: 'gone', of: id })
        else
          tell({
            kind: 'fault',
            of: id,
            words: faultWords(fault),
            again: () => setAttempt(attempt + 1),
          })
      },
    )
    return abort
  }, [token, id, attempt])

  const waits = reading.kind === 'here' && reading.message.auth === null && facts.checks
  useEffect(() => {
    if (!waits) return
    const { signal, abort } = leaving()
    const later = setTimeout(() => {
      readMail({ token, id }, signal).then(
        // Only this: all else stays as it is on the page.
        ({ auth }) => tell((now) => withAuth(now, auth)),
        // It was worth a question, not more: the message is readable without.
        () => tell((now) => withAuth(now, null)),
      )
    }, CHECK_MS)
    return () => {
      clearTimeout(later)
      abort()
    }
    // The summary is another object when the server has told something new of it.
  }, [token, id, waits, summary])

  // For the moment between another summary and the first answer about it.
  return reading.of === id ? reading : { kind: 'loading' }
}

function withAuth<T extends Reading>(reading: T, auth: Message['auth']): T {
  if (reading.kind !== 'here') return reading
  // Many a sender is never checked: whoever fetched his mail from elsewhere cannot do it.
  return { ...reading, message: { ...reading.message, auth }, isChecking: false }
}

function leaving() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

async function readMail(
  { token, id }: { token: string; id: number },
  signal: AbortSignal,
): Promise<Message> {
  const answer = await ask<Answers['GET /api/read-mail']>('/api/read-mail', {
    token,
    values: { id },
    signal,
  })
  return answer.message
}

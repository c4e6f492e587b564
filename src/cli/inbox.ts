import { printable } from '../core/printable.ts'
import { eventStream } from './event-stream.ts'
import { type Print, Refused } from './refused.ts'
import { mailLines } from './show-mail.ts'

interface InboxWish {
  /** Of the API, without a slash at the end. */
  url: string
  prefix: string | undefined
  /** Ends after so many mails. */
  count: number
}

interface Session {
  email: string
  token: string
  expires_at: string
}

interface Summary {
  id: number
  sender_name: string
  sender_email: string
  subject: string
  received_at: string
}

/** `mayfly inbox`: makes a session and shows its mail as it arrives. `told` hears the address before any mail can come. */
export async function watchInbox(
  { url, prefix, count }: InboxWish,
  print: Print,
  told: (address: string) => void = () => {},
): Promise<void> {
  const session = await ask<Session>(url, '/api/create-session', {
    method: 'POST',
    body: new URLSearchParams(prefix === undefined ? {} : { prefix }),
  })
  print(`Address  ${session.email}`)
  print(`Token    ${session.token}`)
  print(`Lives    until ${session.expires_at} UTC`)
  told(session.email)

  const headers = { authorization: `Bearer ${session.token}` }
  const stop = new AbortController()
  let shown = 0
  try {
    // From id 0 on: what came between the two requests is shown as well.
    const stream = await answered(url, '/api/events?since_id=0', { headers, signal: stop.signal })
    for await (const { name, content } of eventStream(untilLost(stream, url))) {
      if (name === 'end') return print('The session is over.')
      if (name !== 'message') continue
      const summary: Summary = JSON.parse(content)
      for (const line of mailLines(await wholeMail(url, summary, headers))) print(line)
      shown += 1
      if (shown >= count) return
    }
  } finally {
    stop.abort()
  }
  throw wentAway(url)
}

async function* untilLost({ body }: Response, url: string): AsyncGenerator<Uint8Array> {
  try {
    if (body) yield* body
  } catch (cause) {
    throw wentAway(url, { cause })
  }
}

function wentAway(url: string, options?: ErrorOptions): Refused {
  return new Refused(`The service at ${url} went away.`, 1, options)
}

async function wholeMail(url: string, summary: Summary, headers: Record<string, string>) {
  const path = `/api/read-mail?id=${summary.id}`
  const { message } = await ask<{ message: { body_text: string | null } }>(url, path, { headers })
  return {
    receivedAt: summary.received_at,
    senderName: summary.sender_name,
    senderEmail: summary.sender_email,
    subject: summary.subject,
    text: message.body_text ?? '',
  }
}

async function ask<T>(url: string, path: string, init: RequestInit): Promise<T> {
  const answer = await answered(url, path, init)
  return (await answer.json()) as T
}

/** Throws what to tell the person, when nobody answers or the answer is a refusal. */
async function answered(url: string, path: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url + path, init).catch((cause: unknown) => {
    throw new Refused(`No mayfly answers at ${url}. Start one with: npm start`, 1, { cause })
  })
  if (answer.ok && /json|event-stream/.test(answer.headers.get('content-type') ?? '')) return answer
  const said = (await answer.json().catch(() => null)) as { message?: unknown } | null
  throw new Refused(
    typeof said?.message === 'string'
      ? `The service at ${url} says: ${printable(said.message)}`
      : `Something answers at ${url}, but not as a mayfly does (status ${answer.status}).`,
  )
}

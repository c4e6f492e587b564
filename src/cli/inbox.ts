import { OPERATOR } from '../core/session.ts'
import { printable } from '../core/text.ts'
import { utcTimestamp } from '../core/time.ts'
import type { ReadParsed } from '../service/mail/parsed-mail.ts'
import type { MessageSource } from '../service/mail/read-mail.ts'
import { deleteOperatorMail, type OperatorDeps } from '../service/operator.ts'
import { eventStream } from './event-stream.ts'
import { mailLines, type Print, Refused } from './output.ts'
import { volumeShown } from './volume.ts'

interface InboxWish {
  /** Of the API, without a slash at the end. */
  url: string
  prefix: string | undefined
  /** Ends after so many mails. */
  count: number
}

/** `mayfly inbox`: makes a session and shows its mail as it arrives. `told` hears the address before any mail can come. */
export async function watchInbox(
  { url, prefix, count }: InboxWish,
  print: Print,
  told: (address: string) => void = () => {},
): Promise<void> {
  const { email, token, expires } = await createSession(url, prefix)
  print(`Address  ${email}`)
  print(`Token    ${token}`)
  print(`Lives    until ${expires} UTC`)
  told(email)

  const headers = { authorization: `Bearer ${token}` }
  const stop = new AbortController()
  let shown = 0
  try {
    // From id 0 on: what came between the two requests is shown as well.
    const stream = await answered(url, '/api/events?since_id=0', { headers, signal: stop.signal })
    for await (const { name, content } of eventStream(untilLost(stream, url))) {
      if (name === 'end') return print('The session is over.')
      if (name !== 'message') continue
      const mail = await wholeMail(url, fieldOf(JSON.parse(content), 'id'), headers)
      for (const line of mailLines(mail)) print(line)
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

async function createSession(url: string, prefix: string | undefined) {
  const answer = await answered(url, '/api/create-session', {
    method: 'POST',
    body: new URLSearchParams(prefix === undefined ? {} : { prefix }),
  })
  const body = await bodyOf(answer)
  const token = fieldOf(body, 'token')
  if (token === '') throw notOurs(url, answer)
  return { email: fieldOf(body, 'email'), token, expires: fieldOf(body, 'expires_at') }
}

async function wholeMail(url: string, id: string, headers: Record<string, string>) {
  const answer = await answered(url, `/api/read-mail?id=${id}`, { headers })
  const body = await bodyOf(answer)
  const message = isRecord(body) ? body['message'] : undefined
  return {
    receivedAt: fieldOf(message, 'received_at'),
    senderName: fieldOf(message, 'sender_name'),
    senderEmail: fieldOf(message, 'sender_email'),
    subject: fieldOf(message, 'subject'),
    text: fieldOf(message, 'body_text'),
  }
}

/** Throws what to tell the person, when nobody answers or the answer is a refusal. */
async function answered(url: string, path: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url + path, init).catch((cause: unknown) => {
    throw new Refused(`No mayfly answers at ${url}. Start one with: npm start`, 1, { cause })
  })
  if (answer.ok && /json|event-stream/.test(answer.headers.get('content-type') ?? '')) return answer
  const said = fieldOf(await bodyOf(answer), 'message')
  if (said === '') throw notOurs(url, answer)
  throw new Refused(`The service at ${url} says: ${printable(said)}`)
}

function notOurs(url: string, { status }: Response): Refused {
  return new Refused(`Something answers at ${url}, but not as a mayfly does (status ${status}).`)
}

/** The JSON of an answer; undefined when it is none. */
async function bodyOf(answer: Response): Promise<unknown> {
  return await answer.json().catch(() => undefined)
}

/** A field as text; empty when it is not there, so that a service of another version can be read. */
function fieldOf(value: unknown, name: string): string {
  const field = isRecord(value) ? value[name] : undefined
  return typeof field === 'string' || typeof field === 'number' ? String(field) : ''
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** What the store and the parser do for this command. */
export interface OperatorMail extends MessageSource {
  parsed: ReadParsed
  /** Resolves when it is time to look again. */
  pause(): Promise<void>
}

interface OperatorWish {
  /** Ends after so many mails. */
  count: number
  /** False: shows what is there and ends. */
  wait: boolean
}

/** `mayfly inbox --operator`: mail for postmaster and abuse, oldest first, then as it comes. */
export async function watchOperator(
  mail: OperatorMail,
  { count, wait }: OperatorWish,
  print: Print,
): Promise<void> {
  let shown = 0
  let sinceId = 0
  for (;;) {
    const page = await mail.listMessages(OPERATOR, { sinceId, limit: 10_000 })
    for (const { id } of page.toReversed()) {
      await printMessage(mail, id, print)
      shown += 1
      if (shown >= count) return
    }
    if (!wait) {
      if (shown === 0) print('No mail for postmaster or abuse.')
      return
    }
    sinceId = page[0]?.id ?? sinceId
    await mail.pause()
  }
}

export interface DeleteOptions {
  /** The id; true: the option without one. */
  delete?: string | true
  all?: boolean
}

/** `mayfly inbox --operator --delete`: which message is meant. */
export function chosenMessages({ delete: id, all }: DeleteOptions): number | 'all' {
  if (all && id === true) return 'all'
  if (all) throw new Refused('--all: give either --delete ID or --delete --all.', 2)
  if (id === true) {
    throw new Refused('--delete: give the id of a message, or --all for all of them.', 2)
  }
  if (id !== undefined && /^[1-9]\d{0,15}$/.test(id)) return Number(id)
  throw new Refused(`--delete: ${JSON.stringify(id)} is not the id of a message.`, 2)
}

/** `mayfly inbox --operator --delete ID` and `--delete --all` */
export async function deleteOperator(
  deps: OperatorDeps,
  which: number | 'all',
  print: Print,
): Promise<void> {
  const deleted = await deleteOperatorMail(deps, which)
  if (which !== 'all' && deleted.messages === 0) {
    throw new Refused(`No message for postmaster or abuse has the id ${which}.`)
  }
  print(
    deleted.messages === 0
      ? 'No mail for postmaster or abuse.'
      : `Deleted ${volumeShown(deleted)} for postmaster and abuse.`,
  )
}

async function printMessage(mail: OperatorMail, id: number, print: Print): Promise<void> {
  const message = await mail.findMessage(OPERATOR, id)
  if (!message) return
  const whole = await mail.parsed(message.rawId, {
    client: undefined,
    mailbox: message.recipient,
    size: message.size,
  })
  const { receivedAt, senderName, senderEmail, recipient, subject } = message
  const text = whole?.text ?? ''
  const shown = { id, senderName, senderEmail, recipient, subject, text }
  for (const line of mailLines({ ...shown, receivedAt: utcTimestamp(receivedAt) })) print(line)
}

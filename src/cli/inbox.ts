import { type Command, Option } from 'commander'
import { OPERATOR } from '../core/session.ts'
import { printable } from '../core/text.ts'
import { utcTimestamp } from '../core/time.ts'
import type { ReadParsed } from '../service/mail/parsed-mail.ts'
import type { MessageSource } from '../service/mail/read-mail.ts'
import { deleteOperatorMail, type OperatorDeps } from '../service/operator-commands.ts'
import { eventStreamParser, type ServerSentEvent } from '../shared/event-stream-parser.ts'
import type { Endpoints } from './banner.ts'
import { CommandError, formatMail, formatVolume, type Print } from './output.ts'
import { type OperatorActions, parseCount } from './session.ts'

export interface InboxActions extends OperatorActions {
  endpoints(): Endpoints
  withOperatorMail(operation: (mail: OperatorMail) => Promise<void>): Promise<void>
}

interface InboxOptions extends DeleteOptions {
  url?: string
  prefix?: string
  operator?: boolean
  wait: boolean
  once?: boolean
  count?: number
  from?: string
  subject?: string
  code?: boolean
}

export function addInboxCommand(mayfly: Command, actions: InboxActions, print: Print): void {
  mayfly
    .command('inbox')
    .description('Create a mailbox and show its mail as it arrives')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .option('--prefix <name>', 'local part of the address (default: random)')
    .addOption(
      new Option('--operator', 'show mail to postmaster and abuse instead').conflicts([
        'from',
        'subject',
        'code',
      ]),
    )
    .option('--no-wait', 'with --operator: exit after showing stored mail')
    .option('--once', 'exit after one message')
    .option('--count <n>', 'exit after n messages', parseCount)
    .option('--from <sender>', 'only mail from this address or domain')
    .option('--subject <text>', 'only mail with this text in the subject')
    .option('--code', 'print the code of the first mail that has one, and nothing else; then exit')
    .option('--delete [id]', 'with --operator: delete this message')
    .option('--all', 'with --operator --delete: delete all messages')
    .action(async ({ operator, wait, ...options }: InboxOptions) => {
      if (options.delete !== undefined || options.all) {
        if (!operator || options.delete === undefined) throw new CommandError(HOW_TO_DELETE, 2)
        const selection = parseSelection(options)
        return await actions.withOperatorStore((deps) =>
          deleteOperatorMessages(deps, selection, print),
        )
      }
      const count = options.once ? 1 : (options.count ?? Number.POSITIVE_INFINITY)
      if (operator) {
        return await actions.withOperatorMail((mail) => watchOperator(mail, { count, wait }, print))
      }
      const local = actions.endpoints()
      const url = options.url?.replace(/\/+$/, '') ?? local.url
      const { prefix, from, subject, code = false } = options
      // A script reads only the code.
      const printStatus = code ? console.error : print
      await watchInbox({ url, count, prefix, from, subject, code }, print, {
        printStatus,
        onAddress(address) {
          if (url === local.url) printStatus(swaksCommand(local, address))
        },
      })
    })
}

const HOW_TO_DELETE = 'To delete: mayfly inbox --operator --delete ID, or --delete --all'

function swaksCommand({ smtpHost, smtpPort }: Endpoints, address: string): string {
  return `Send     swaks --server ${smtpHost}:${smtpPort} --to ${address} --body 'It works.'`
}

interface WatchOptions {
  /** Without a trailing slash. */
  url: string
  prefix?: string | undefined
  /** Returns after this many messages. */
  count: number
  from?: string | undefined
  subject?: string | undefined
  /** Prints the first code instead of messages, and returns. */
  code?: boolean
}

interface WatchOutput {
  /** For everything but mail and codes. */
  printStatus?: Print
  /** Called before any mail can arrive. */
  onAddress?(address: string): void
}

export async function watchInbox(
  { url, prefix, count, code = false, ...filter }: WatchOptions,
  print: Print,
  { printStatus = print, onAddress = () => {} }: WatchOutput = {},
): Promise<void> {
  const { email, token, expires } = await createSession(url, prefix)
  printStatus(`Address  ${email}`)
  printStatus(`Token    ${token}`)
  printStatus(`Expires  ${expires} UTC`)
  onAddress(email)

  const headers = { authorization: `Bearer ${token}` }
  const stop = new AbortController()
  let shown = 0
  try {
    const path = eventsPath({ code, ...filter })
    const stream = await request(url, path, { headers, signal: stop.signal })
    for await (const { name, data } of readEvents(stream, url)) {
      if (name === 'end' && code) throw new CommandError('The session has ended without a code.')
      if (name === 'end') return print('The session has ended.')
      if (name !== 'message') continue
      if (code) return print(printable(fieldOf(JSON.parse(data), 'code')))
      const mail = await fetchMail(url, fieldOf(JSON.parse(data), 'id'), headers)
      for (const line of formatMail(mail)) print(line)
      shown += 1
      if (shown >= count) return
    }
  } finally {
    stop.abort()
  }
  throw disconnected(url)
}

function eventsPath({ from, subject, code }: Pick<WatchOptions, 'from' | 'subject' | 'code'>) {
  const query = new URLSearchParams({
    // Includes mail that arrived before this request.
    since_id: '0',
    ...(from === undefined ? {} : { from }),
    ...(subject === undefined ? {} : { subject }),
    ...(code ? { has_code: '1' } : {}),
  })
  return `/api/events?${query}`
}

async function* readEvents({ body }: Response, url: string): AsyncGenerator<ServerSentEvent> {
  const parse = eventStreamParser()
  try {
    for await (const chunk of body ?? []) yield* parse(chunk)
  } catch (cause) {
    throw disconnected(url, { cause })
  }
}

function disconnected(url: string, options?: ErrorOptions): CommandError {
  return new CommandError(`The service at ${url} closed the connection.`, 1, options)
}

async function createSession(url: string, prefix: string | undefined) {
  const response = await request(url, '/api/create-session', {
    method: 'POST',
    body: new URLSearchParams(prefix === undefined ? {} : { prefix }),
  })
  const body = await bodyOf(response)
  const token = fieldOf(body, 'token')
  if (token === '') throw notMayfly(url, response)
  return { email: fieldOf(body, 'email'), token, expires: fieldOf(body, 'expires_at') }
}

async function fetchMail(url: string, id: string, headers: Record<string, string>) {
  const response = await request(url, `/api/read-mail?id=${id}`, { headers })
  const body = await bodyOf(response)
  const message = isRecord(body) ? body['message'] : undefined
  return {
    receivedAt: fieldOf(message, 'received_at'),
    senderName: fieldOf(message, 'sender_name'),
    senderEmail: fieldOf(message, 'sender_email'),
    subject: fieldOf(message, 'subject'),
    text: fieldOf(message, 'body_text'),
  }
}

/** Throws a CommandError if the service is unreachable or refuses. */
async function request(url: string, path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url + path, init).catch((cause: unknown) => {
    throw new CommandError(`No Mayfly service at ${url}. Start one with: npm start`, 1, { cause })
  })
  if (response.ok && /json|event-stream/.test(response.headers.get('content-type') ?? '')) {
    return response
  }
  const message = fieldOf(await bodyOf(response), 'message')
  if (message === '') throw notMayfly(url, response)
  throw new CommandError(`The service at ${url} says: ${printable(message)}`)
}

function notMayfly(url: string, { status }: Response): CommandError {
  return new CommandError(`The server at ${url} does not respond like Mayfly (status ${status}).`)
}

/** Undefined if it is not JSON. */
async function bodyOf(response: Response): Promise<unknown> {
  return await response.json().catch(() => undefined)
}

/** A field as text; empty if missing, so that other versions of the service can be read. */
function fieldOf(value: unknown, name: string): string {
  const field = isRecord(value) ? value[name] : undefined
  return typeof field === 'string' || typeof field === 'number' ? String(field) : ''
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

export interface OperatorMail extends MessageSource {
  parsed: ReadParsed
  waitForNextPoll(): Promise<void>
}

/** Mail to postmaster and abuse, oldest first: the first `count`, or all; with `wait` also those that arrive later. */
export async function watchOperator(
  mail: OperatorMail,
  { count, wait }: { count: number; wait: boolean },
  print: Print,
): Promise<void> {
  let shown = 0
  let sinceId = 0
  for (;;) {
    const page = await mail.listMessages(OPERATOR, { sinceId, limit: 10_000 })
    for (const { id } of page.toReversed()) {
      await printOperatorMail(mail, id, print)
      shown += 1
      if (shown >= count) return
    }
    if (!wait) {
      if (shown === 0) print('No mail for postmaster or abuse.')
      return
    }
    sinceId = page[0]?.id ?? sinceId
    await mail.waitForNextPoll()
  }
}

async function printOperatorMail(mail: OperatorMail, id: number, print: Print): Promise<void> {
  const message = await mail.findMessage(OPERATOR, id)
  if (!message) return
  const { rawId, recipient, size } = message
  const parsed = await mail.parsed(rawId, { client: undefined, mailbox: recipient, size })
  const receivedAt = utcTimestamp(message.receivedAt)
  const lines = formatMail({ ...message, receivedAt, text: parsed?.text ?? '' })
  for (const line of lines) print(line)
}

interface DeleteOptions {
  /** The id; true if the option has none. */
  delete?: string | true
  all?: boolean
}

/** Which messages `--delete` selects. */
export function parseSelection({ delete: id, all }: DeleteOptions): number | 'all' {
  if (all && id === true) return 'all'
  if (all) throw new CommandError('--all: use either --delete ID or --delete --all.', 2)
  if (id === true)
    throw new CommandError('--delete: give a message id, or --all for all messages.', 2)
  if (id !== undefined && /^[1-9]\d{0,15}$/.test(id)) return Number(id)
  throw new CommandError(`--delete: ${JSON.stringify(id)} is not a message id.`, 2)
}

export async function deleteOperatorMessages(
  deps: OperatorDeps,
  selection: number | 'all',
  print: Print,
): Promise<void> {
  const deleted = await deleteOperatorMail(deps, selection)
  if (selection !== 'all' && deleted.messages === 0) {
    throw new CommandError(`No message for postmaster or abuse has the id ${selection}.`)
  }
  print(
    deleted.messages === 0
      ? 'No mail for postmaster or abuse.'
      : `Deleted ${formatVolume(deleted)} for postmaster and abuse.`,
  )
}

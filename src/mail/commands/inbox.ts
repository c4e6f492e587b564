import { type Command, Option } from 'commander'
import { printable } from '../../base/text.ts'
import type { Endpoints } from '../../cli/banner.ts'
import {
  CommandError,
  formatMail,
  HOW_TO_EXIT,
  noPaint,
  type Paint,
  type Print,
  plural,
  terminalPaint,
} from '../../cli/output.ts'
import { eventStreamParser, type ServerSentEvent } from '../../shared/event-stream-parser.ts'
import {
  type DeleteOptions,
  deleteOperatorMessages,
  type OperatorMail,
  parseSelection,
  watchOperator,
} from './operator-inbox.ts'
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
    .option('--code', 'wait for a message with a code, print only the code, and exit')
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
        return await actions.withOperatorMail((mail) =>
          watchOperator(mail, { count, wait, paint: terminalPaint }, print),
        )
      }
      const local = actions.endpoints()
      const url = options.url?.replace(/\/+$/, '') ?? local.url
      const { prefix, from, subject, code = false } = options
      // A script reads only the code.
      const printStatus = code ? console.error : print
      await watchInbox({ url, count, prefix, from, subject, code }, print, {
        printStatus,
        paint: terminalPaint,
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
  paint?: Paint
  /** Called before any mail can arrive. */
  onAddress?(address: string): void
}

export async function watchInbox(
  { url, prefix, count, code = false, ...filter }: WatchOptions,
  print: Print,
  { printStatus = print, paint = noPaint, onAddress = () => {} }: WatchOutput = {},
): Promise<void> {
  const { email, token, expires } = await createSession(url, prefix)
  printStatus(`Address  ${email}`)
  printStatus(`Token    ${token}`)
  printStatus(`Expires  ${expires} UTC`)
  onAddress(email)
  printStatus(`\n${waitingText({ count, code, ...filter })}`)

  const headers = { authorization: `Bearer ${token}` }
  const stop = new AbortController()
  let shown = 0
  try {
    const path = eventsPath({ code, ...filter })
    const stream = await request(url, path, { headers, signal: stop.signal })
    for await (const { name, data } of readEvents(stream, url)) {
      if (name === 'end' && code) throw new CommandError('The session ended before a code arrived.')
      if (name === 'end') return print('The session has ended.')
      if (name !== 'message') continue
      const message = parseMessage(data, url, stream)
      if (code) return print(printable(fieldOf(message, 'code')))
      const mail = await fetchMail(url, fieldOf(message, 'id'), headers)
      for (const line of formatMail(mail, paint)) print(line)
      shown += 1
      if (shown >= count) return
    }
  } finally {
    stop.abort()
  }
  throw disconnected(url)
}

/** `Waiting for 2 messages from sender.test. Press Ctrl+C to exit.` */
function waitingText({ count, code, from, subject }: Omit<WatchOptions, 'url' | 'prefix'>): string {
  const what = code ? 'a code' : Number.isFinite(count) ? plural(count, 'message') : 'mail'
  const sender = from === undefined ? '' : ` from ${from}`
  const text = subject === undefined ? '' : ` with ${JSON.stringify(subject)} in the subject`
  return `Waiting for ${what}${sender}${text}. ${HOW_TO_EXIT}`
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

function parseMessage(data: string, url: string, stream: Response): unknown {
  const message = parseJson(data)
  if (message === undefined) throw notMayfly(url, stream)
  return message
}

function disconnected(url: string, options?: ErrorOptions): CommandError {
  return new CommandError(`The service at ${url} closed the connection.`, 1, options)
}

/** Everything that a server says is untrusted, as is everything in a mail. */
async function createSession(url: string, prefix: string | undefined) {
  const response = await request(url, '/api/create-session', {
    method: 'POST',
    body: new URLSearchParams(prefix === undefined ? {} : { prefix }),
  })
  const body = await bodyOf(response)
  const token = fieldOf(body, 'token')
  // A token that could not be sent as a header is not ours.
  if (!/^[!-~]+$/.test(token)) throw notMayfly(url, response)
  const email = printable(fieldOf(body, 'email'))
  return { email, token, expires: printable(fieldOf(body, 'expires_at')) }
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
    codes: listOf(message, 'codes').map((code) => ({ value: fieldOf(code, 'value') })),
    links: listOf(message, 'links').map((link) => ({
      kind: fieldOf(link, 'kind'),
      url: fieldOf(link, 'url'),
    })),
    attachments: listOf(message, 'attachments').map((attachment) => ({
      filename: fieldOf(attachment, 'filename'),
      size: Number(fieldOf(attachment, 'size')),
      inline: isRecord(attachment) && attachment['inline'] === true,
    })),
  }
}

/** Throws a CommandError if the service is unreachable or refuses. */
async function request(url: string, path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url + path, init).catch((cause: unknown) => {
    throw new CommandError(
      `No Mayfly service found at ${url}. Start it, or specify another with --url.`,
      1,
      {
        cause,
      },
    )
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
  return parseJson(await response.text().catch(() => ''))
}

/** Undefined if it is not JSON: the error would quote it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A field as text; empty if missing, so that other versions of the service can be read. */
function fieldOf(value: unknown, name: string): string {
  const field = isRecord(value) ? value[name] : undefined
  return typeof field === 'string' || typeof field === 'number' ? String(field) : ''
}

/** A list of the API; empty if missing. */
function listOf(value: unknown, name: string): unknown[] {
  const list = isRecord(value) ? value[name] : undefined
  return Array.isArray(list) ? list : []
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

import { setTimeout } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import {
  type Mailbox,
  Mayfly,
  MayflyError,
  MayflyTimeoutError,
  type Message,
} from '../../../clients/js/src/mayfly.ts'
import { printable } from '../../base/text.ts'
import { backoffDelay } from '../../base/time.ts'
import type { Endpoints } from '../../cli/banner.ts'
import {
  CommandError,
  formatMail,
  formatTime,
  HOW_TO_EXIT,
  noPaint,
  type Paint,
  type Print,
  parseCount,
  plural,
  terminalPaint,
} from '../../cli/output.ts'
import {
  type DeleteOptions,
  deleteOperatorMessages,
  type InboxContext,
  parseSelection,
  watchOperator,
  withOperatorMail,
} from './operator-inbox.ts'

interface InboxOptions extends DeleteOptions {
  url?: string
  prefix?: string
  operator?: boolean
  wait?: boolean
  once?: boolean
  count?: number
  from?: string
  subject?: string
  code?: boolean
}

export function addInboxCommand(mayfly: Command, context: InboxContext, print: Print): void {
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
    .option('--wait', 'with --operator: wait for more mail (default on a terminal)')
    .option('--no-wait', 'with --operator: exit after showing stored mail (default in a pipe)')
    .option('--once', 'exit after one message')
    .option('--count <n>', 'exit after n messages', parseCount)
    .option('--from <sender>', 'only mail from this address or domain')
    .option('--subject <text>', 'only mail with this text in the subject')
    .option('--code', 'wait for a message with a code, print only the code, and exit')
    .option('--delete [id]', 'with --operator: delete this message')
    .option('--all', 'with --operator --delete: delete all messages')
    .action(async ({ operator, ...options }: InboxOptions) => {
      if (options.delete !== undefined || options.all) {
        if (!operator || options.delete === undefined) throw new CommandError(HOW_TO_DELETE, 2)
        const selection = parseSelection(options)
        return await context.withMail((store) =>
          deleteOperatorMessages({ ...context, store }, selection, print),
        )
      }
      const count = options.once ? 1 : (options.count ?? Number.POSITIVE_INFINITY)
      if (operator) {
        const wait = waits(options.wait, count)
        return await withOperatorMail(context, (mail) =>
          watchOperator(mail, { count, wait, paint: terminalPaint }, print),
        )
      }
      const local = context.endpoints()
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

/** In a pipe, whoever reads the output to its end would wait for ever. */
function waits(given: boolean | undefined, count: number): boolean {
  return given ?? (process.stdout.isTTY || Number.isFinite(count))
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
  { url, prefix, ...options }: WatchOptions,
  print: Print,
  { printStatus = print, paint = noPaint, onAddress = () => {} }: WatchOutput = {},
): Promise<void> {
  let mailbox: Mailbox | undefined
  try {
    mailbox = await createMailbox(url, prefix)
    const address = printable(mailbox.email)
    printStatus(`Address  ${address}`)
    printStatus(`Token    ${mailbox.token}`)
    printStatus(`Expires  ${formatTime(mailbox.expiresAt)}`)
    onAddress(address)
    printStatus(`\n${waitingText(options)}`)
    await printMail(mailbox, options, { print, paint })
  } catch (error) {
    throw toCommandError(url, error, mailbox !== undefined)
  }
}

async function createMailbox(url: string, prefix: string | undefined): Promise<Mailbox> {
  if (!URL.canParse(url)) throw notFound(url)
  const mailbox = await new Mayfly({ url }).createMailbox(prefix === undefined ? {} : { prefix })
  const { email, token, expiresAt } = mailbox
  // A token that could not be sent as a header is not ours.
  if (email && /^[!-~]+$/.test(token) && !Number.isNaN(expiresAt.getTime())) return mailbox
  throw notMayfly(url)
}

async function printMail(
  mailbox: Mailbox,
  { count, code = false, ...filter }: Omit<WatchOptions, 'url' | 'prefix'>,
  { print, paint }: { print: Print; paint: Paint },
): Promise<void> {
  let shown = 0
  // Includes mail that arrived before this request.
  for await (const event of mailbox.events({ ...filter, has_code: code, since_id: 0 })) {
    if (event.type === 'end' && code)
      throw new CommandError('The session ended before a code arrived.')
    if (event.type === 'end') return print('The session has ended.')
    if (event.type !== 'message') continue
    if (code) return print(printable(String(event.message.code)))
    const mail = mailOf(await readMessage(mailbox, event.message.id))
    for (const line of formatMail(mail, paint)) print(line)
    shown += 1
    if (shown >= count) return
  }
}

const MAX_READS = 20
const BACKOFF_MS = { first: 100, max: 5_000 }

const PASSING = [0, 429, 502, 503, 504]

/** Like the stream, it survives a restart of the service. */
async function readMessage(mailbox: Mailbox, id: number): Promise<Message> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await mailbox.read(id)
    } catch (error) {
      const isPassing =
        error instanceof MayflyError &&
        PASSING.includes(error.status) &&
        // It has waited long enough.
        !(error instanceof MayflyTimeoutError)
      // Invalid JSON has no status either.
      const isJson = !(error instanceof Error && error.cause instanceof SyntaxError)
      if (!isPassing || !isJson || failures === MAX_READS) throw error
      await setTimeout(backoffDelay(failures, BACKOFF_MS))
    }
  }
}

/** `Waiting for 2 messages from sender.test. Press Ctrl+C to exit.` */
function waitingText({ count, code, from, subject }: Omit<WatchOptions, 'url' | 'prefix'>): string {
  const what = code ? 'a code' : Number.isFinite(count) ? plural(count, 'message') : 'mail'
  const sender = from === undefined ? '' : ` from ${from}`
  const text = subject === undefined ? '' : ` with ${JSON.stringify(subject)} in the subject`
  return `Waiting for ${what}${sender}${text}. ${HOW_TO_EXIT}`
}

/** Fields may be missing: other versions of the service can be read, too. */
function mailOf(message: Partial<Message>) {
  return {
    receivedAt: message.received_at ?? '',
    senderName: message.sender_name ?? '',
    senderEmail: message.sender_email ?? '',
    subject: message.subject ?? '',
    text: message.body_text ?? '',
    codes: message.codes ?? [],
    links: message.links ?? [],
    attachments: message.attachments ?? [],
  }
}

/** Everything that a server says is untrusted. */
function toCommandError(url: string, error: unknown, wasConnected: boolean): unknown {
  // Other JSON than ours.
  if (error instanceof TypeError) return notMayfly(url)
  if (!(error instanceof MayflyError)) return error
  const { code, message, cause } = error
  const isText = code === 'unknown' || cause instanceof SyntaxError
  if (isText) return notMayfly(url)
  if (code === 'network') {
    return wasConnected ? new CommandError(printable(message)) : notFound(url, { cause })
  }
  return new CommandError(`The service at ${url} says: ${printable(message)}`)
}

function notFound(url: string, options?: ErrorOptions): CommandError {
  const text = `No Mayfly service found at ${url}. Start it, or specify another with --url.`
  return new CommandError(text, 1, options)
}

function notMayfly(url: string): CommandError {
  return new CommandError(`The server at ${url} does not respond like Mayfly.`)
}

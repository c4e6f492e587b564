import type { Envelope } from '../shared/mail.ts'
import {
  bufferedBytes,
  consumeData,
  type DataProgress,
  dataReader,
  discardData,
  hasBareNewline,
  unstuff,
} from './data.ts'
import {
  checkRcptParameters,
  type ParameterError,
  parseCommand,
  parseMailParameters,
  parsePath,
  readLine,
} from './parser.ts'
import { REPLIES } from './replies.ts'
import { isReversePath } from './reverse-path.ts'
import {
  type About,
  type Action,
  type ActionResult,
  applyResult,
  closeSession,
  EMPTY,
  endData,
  initialState,
  queueReply,
  type Report,
  resetTransaction,
  type SmtpLimits,
  type State,
} from './state.ts'

/** Replies to write, and at most one action to complete before the next input. */
export interface Step {
  replies: string
  action: Action | undefined
}

export interface SmtpSession {
  /** Must not be called while an action is pending. */
  receive(chunk: Buffer): Step
  complete(result: ActionResult): Step
  /** True from 354 to the reply to the final dot. */
  inData(): boolean
  /** Memory taken by the mail in progress. */
  bufferedBytes(): number
  /** Bytes of mail received in this session, including rejected mail. */
  dataBytes(): number
  /** Discards the mail in progress; the reply to its final dot is 452. */
  discardMail(): void
  /** The client is gone: completes the action without reading on. */
  abandon(result: ActionResult): void
  /** What a mail log has of a connection that ended. */
  state(): Readonly<State>
}

/** The server side of one SMTP session as a state machine over bytes: no socket, no clock. */
export function smtpSession(
  limits: SmtpLimits,
  clientIp: string,
  { blocked = false, report = () => {} }: { blocked?: boolean; report?: Report } = {},
): SmtpSession {
  const state = initialState(limits, clientIp, { blocked, report })
  return {
    receive(chunk) {
      state.chunk = chunk
      state.at = 0
      return advance(state)
    },
    complete(result) {
      applyResult(state, result)
      return advance(state)
    },
    inData: () => state.incoming !== undefined || state.action?.kind === 'message',
    bufferedBytes: () => (state.incoming ? bufferedBytes(state.incoming) : 0),
    dataBytes: () => state.dataBytes,
    discardMail() {
      if (state.incoming) discardData(state.incoming, 'no_space')
    },
    abandon: (result) => applyResult(state, result),
    state: () => state,
  }
}

function advance(state: State): Step {
  while (state.action === undefined && state.at < state.chunk.length) {
    if (state.incoming) readData(state)
    else readCommand(state)
  }
  if (state.at >= state.chunk.length) state.chunk = EMPTY
  const step = { replies: state.replies, action: state.action }
  state.replies = ''
  return step
}

function readCommand(state: State): void {
  const { chunk, at, lines, limits } = state
  // First byte of a TLS ClientHello, which may contain no newline.
  if (chunk[at] === 0x16 && lines.partial === '' && !lines.skipping) {
    closeSession(state, REPLIES.notSmtp, 'not_smtp')
    return
  }
  state.at = readLine(lines, chunk, { from: at, maxBytes: limits.maxLineBytes })
  const line = lines.line
  if (!line) return
  state.commands += 1
  state.command = ''
  if (state.commands > limits.maxCommands) {
    closeSession(state, REPLIES.tooManyCommands, 'too_many_commands')
  } else if ('text' in line) runCommand(state, line.text)
  else queueReply(state, line.fault === 'too_long' ? REPLIES.lineTooLong : REPLIES.badLine)
}

function runCommand(state: State, text: string): void {
  const { verb, argument } = parseCommand(text)
  const run = VERBS.get(verb)
  state.command = run ? verb : ''
  if (NON_SMTP_VERBS.has(verb) || verb.startsWith('SSH-')) {
    closeSession(state, REPLIES.notSmtp, 'not_smtp')
  } else if (state.blocked && verb !== 'QUIT') {
    // RFC 5321 3.1: after a 554 greeting, wait for QUIT.
    queueReply(state, REPLIES.blockedSession)
  } else if (run) {
    const reply = run(state, argument)
    if (reply !== undefined) queueReply(state, reply)
  } else queueReply(state, REPLIES.unknownCommand)
}

function readData(state: State): void {
  if (!state.incoming) return
  const from = state.at
  const taken = consumeData(state.incoming, state.chunk, from)
  if (taken === 'endless') {
    state.at = state.chunk.length
    closeSession(state, REPLIES.tooBig, 'too_big')
    resetTransaction(state)
  } else if (taken === 'more') state.at = state.chunk.length
  else {
    state.at = taken.next
    finishData(state, taken)
  }
  state.dataBytes += state.at - from
}

function finishData(state: State, end: Exclude<DataProgress, string>): void {
  if ('dropped' in end) {
    queueReply(state, end.dropped === 'too_big' ? REPLIES.tooBig : REPLIES.noSpace)
    resetTransaction(state)
  } else if (state.limits.refuseBareNewlines && hasBareNewline(end.stuffed)) {
    queueReply(state, REPLIES.bareNewline)
    resetTransaction(state)
  } else {
    const raw = unstuff(end.stuffed, end.plain)
    endData(state)
    state.action = {
      kind: 'message',
      raw,
      size: raw.length,
      recipients: [...state.recipients.values()],
      envelope: envelopeOf(state),
    }
  }
}

function envelopeOf(state: State): Envelope {
  const { clientIp, helo = '', sender, tls } = state
  return { clientIp, helo, mailFrom: sender?.path ?? '', tls, protocol: protocolOf(state) }
}

/** Protocol name for `Received`, as registered with IANA. */
function protocolOf({ extended, sender, tls }: State): string {
  if (!extended) return 'SMTP'
  const secure = tls === undefined ? '' : 'S'
  return sender?.utf8 ? `UTF8SMTP${secure}` : `ESMTP${secure}`
}

/** Runs one command; returns the reply, or undefined if an action has to run first. */
type Verb = (state: State, argument: string) => string | undefined

const NON_ASCII = /[^\x20-\x7e]/

// A Map: a client must not reach properties such as `constructor`.
const VERBS: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ['EHLO', (state, argument) => ehlo(state, argument, true)],
  ['HELO', (state, argument) => ehlo(state, argument, false)],
  ['MAIL', mail],
  ['RCPT', rcpt],
  ['DATA', data],
  ['RSET', reset],
  ['NOOP', () => REPLIES.ok],
  ['QUIT', quit],
  ['STARTTLS', startTls],
  // RFC 5321 7.3: does not disclose which addresses exist.
  ['VRFY', (_, who) => (who === '' ? REPLIES.badArgument : REPLIES.notVerified)],
  ...'EXPN HELP TURN ETRN ATRN BDAT AUTH XCLIENT XFORWARD SEND SOML SAML'
    .split(' ')
    .map((verb): [string, Verb] => [verb, () => REPLIES.notImplemented]),
])

/** Sent by browsers and scanners. */
const NON_SMTP_VERBS: ReadonlySet<string> = new Set(
  'GET POST PUT HEAD OPTIONS DELETE PATCH TRACE CONNECT PRI'.split(' '),
)

function ehlo(state: State, argument: string, extended: boolean): string {
  if (argument === '' || argument.length > 255 || argument.includes(' ')) return REPLIES.badArgument
  resetTransaction(state)
  state.helo = argument
  state.extended = extended
  const { hostname, maxBytes, offerTls } = state.limits
  if (!extended) return `250 ${hostname}\r\n`
  const startTls = offerTls && state.tls === undefined ? '250-STARTTLS\r\n' : ''
  const always = `PIPELINING\r\n250-SIZE ${maxBytes}\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n`
  return `250-${hostname}\r\n250-${always}${startTls}250 ENHANCEDSTATUSCODES\r\n`
}

function mail(state: State, argument: string): string | undefined {
  if (state.helo === undefined) return REPLIES.ehloRequired
  if (state.sender) return REPLIES.nestedMail
  const from = parsePath('FROM:', argument)
  if (!from || !isReversePath(from.path)) return REPLIES.badSender
  const parameters = parseMailParameters(from.parameters)
  if (typeof parameters === 'string') return parameterReply(parameters)
  const { size, utf8 } = parameters
  const { path: sender } = from
  if (!utf8 && NON_ASCII.test(sender)) return refuse(state, REPLIES.needsUtf8, { sender })
  if (size > state.limits.maxBytes) return refuse(state, REPLIES.tooBig, { sender, size })
  state.sender = { path: from.path, size, utf8 }
  state.action = { kind: 'mail-from', sender: from.path, size }
  return undefined
}

function rcpt(state: State, argument: string): string | undefined {
  if (!state.sender) return REPLIES.mailRequired
  const to = parsePath('TO:', argument)
  if (!to) return REPLIES.badPath
  const fault = checkRcptParameters(to.parameters)
  if (fault) return parameterReply(fault)
  // Nobody has looked whether its domain is a wildcard.
  const about = { recipients: [{ address: to.path, wildcard: true }] }
  if (!state.sender.utf8 && NON_ASCII.test(to.path)) return refuse(state, REPLIES.needsUtf8, about)
  // RFC 5321 4.5.3.1.10: too many recipients is 452, and the client retries the rest.
  if (state.recipients.size >= state.limits.maxRecipients)
    return refuse(state, REPLIES.tooManyRecipients, about)
  const others = [...state.recipients.values()]
  state.action = { kind: 'rcpt-to', text: to.path, size: state.sender.size, others }
  return undefined
}

/** A refusal of which the mail log has more than the state does. */
function refuse(state: State, reply: string, about: About): undefined {
  queueReply(state, reply, about)
}

function data(state: State, argument: string): string {
  if (argument !== '') return REPLIES.badArgument
  if (!state.sender) return REPLIES.mailRequired
  if (state.recipients.size === 0) return REPLIES.noRecipient
  state.incoming = dataReader(state.limits.maxBytes)
  return REPLIES.startData
}

function reset(state: State, argument: string): string {
  if (argument !== '') return REPLIES.badArgument
  resetTransaction(state)
  return REPLIES.ok
}

function quit(state: State, argument: string): string | undefined {
  if (argument !== '') return REPLIES.badArgument
  closeSession(state, REPLIES.closing, 'quit')
  return undefined
}

function startTls(state: State, argument: string): string | undefined {
  if (argument !== '') return REPLIES.badArgument
  if (state.tls !== undefined) return REPLIES.tlsActive
  if (!state.limits.offerTls) return REPLIES.notImplemented
  // Input after STARTTLS is not encrypted: an attacker may have injected it to be run inside TLS.
  if (state.at < state.chunk.length)
    closeSession(state, REPLIES.inputAfterStartTls, 'behind_starttls')
  else {
    state.replies += REPLIES.startTls
    state.action = { kind: 'tls' }
  }
  return undefined
}

function parameterReply(fault: ParameterError): string {
  return fault === 'malformed' ? REPLIES.badParameter : REPLIES.unknownParameter
}

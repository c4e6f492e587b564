import {
  isSender,
  type ParameterFault,
  parseMailParameters,
  parsePath,
  recipientParameterFault,
} from './command-parser.ts'
import { dataReader } from './data.ts'
import { REPLIES } from './replies.ts'
import { forgetMail, hangUp, type State, say } from './state.ts'

/** Carries out one command; the answer is the reply, undefined where a deed comes first. */
type Verb = (state: State, argument: string) => string | undefined

const NON_ASCII = /[^\x20-\x7e]/

// A Map, so that no word a client sends can reach anything but a command.
export const VERBS: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ['EHLO', (state, argument) => hello(state, argument, true)],
  ['HELO', (state, argument) => hello(state, argument, false)],
  ['MAIL', mail],
  ['RCPT', rcpt],
  ['DATA', data],
  ['RSET', (state, argument) => (argument === '' ? reset(state) : REPLIES.badArgument)],
  ['NOOP', () => REPLIES.ok],
  ['QUIT', quit],
  ['STARTTLS', startTls],
  // Known words that we never do: VRFY and EXPN would tell who is here.
  ...'VRFY EXPN HELP TURN ETRN ATRN BDAT AUTH XCLIENT XFORWARD SEND SOML SAML'
    .split(' ')
    .map((verb): [string, Verb] => [verb, () => REPLIES.notOffered]),
])

/** First words of those who took the port for something else: browsers, scanners, ssh. */
export const STRANGERS: ReadonlySet<string> = new Set(
  'GET POST PUT HEAD OPTIONS DELETE PATCH TRACE CONNECT PRI'.split(' '),
)

function hello(state: State, argument: string, extended: boolean): string {
  if (argument === '' || argument.length > 255 || argument.includes(' ')) return REPLIES.badArgument
  forgetMail(state)
  state.helo = argument
  state.extended = extended
  const { hostname, maxBytes, offerTls } = state.limits
  if (!extended) return `250 ${hostname}\r\n`
  const startTls = offerTls && state.tls === undefined ? '250-STARTTLS\r\n' : ''
  const always = `PIPELINING\r\n250-SIZE ${maxBytes}\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n`
  return `250-${hostname}\r\n250-${always}${startTls}250 ENHANCEDSTATUSCODES\r\n`
}

function mail(state: State, argument: string): string | undefined {
  if (state.helo === undefined) return REPLIES.helloFirst
  if (state.sender) return REPLIES.mailTwice
  const from = parsePath('FROM:', argument)
  if (!from || !isSender(from.path)) return REPLIES.badSender
  const parameters = parseMailParameters(from.parameters)
  if (typeof parameters === 'string') return parameterReply(parameters)
  const { size, utf8 } = parameters
  if (!utf8 && NON_ASCII.test(from.path)) return REPLIES.needsUtf8
  if (size > state.limits.maxBytes) return REPLIES.tooBig
  state.sender = { path: from.path, size, utf8 }
  state.deed = { kind: 'sender', size }
  return undefined
}

function rcpt(state: State, argument: string): string | undefined {
  if (!state.sender) return REPLIES.mailFirst
  const to = parsePath('TO:', argument)
  if (!to) return REPLIES.badPath
  const fault = recipientParameterFault(to.parameters)
  if (fault) return parameterReply(fault)
  if (!state.sender.utf8 && NON_ASCII.test(to.path)) return REPLIES.needsUtf8
  // RFC 5321 4.5.3.1.10: too many recipients is 452, and the sender sends the rest again.
  if (state.recipients.size >= state.limits.maxRecipients) return REPLIES.tooManyRecipients
  const others = [...state.recipients.values()]
  state.deed = { kind: 'recipient', text: to.path, size: state.sender.size, others }
  return undefined
}

function data(state: State, argument: string): string {
  if (argument !== '') return REPLIES.badArgument
  if (!state.sender) return REPLIES.mailFirst
  if (state.recipients.size === 0) return REPLIES.noRecipient
  state.incoming = dataReader(state.limits.maxBytes)
  return REPLIES.goAhead
}

function reset(state: State): string {
  forgetMail(state)
  return REPLIES.ok
}

function quit(state: State, argument: string): string | undefined {
  if (argument !== '') return REPLIES.badArgument
  hangUp(state, REPLIES.bye, 'quit')
  return undefined
}

function startTls(state: State, argument: string): string | undefined {
  if (argument !== '') return REPLIES.badArgument
  if (state.tls !== undefined) return REPLIES.alreadySecure
  if (!state.limits.offerTls) return REPLIES.notOffered
  // What stands behind STARTTLS was not encrypted: it may be a stranger's, to be run as if the sender had said it.
  if (state.at < state.chunk.length) hangUp(state, REPLIES.behindStartTls, 'behind_starttls')
  else {
    say(state, REPLIES.startTls)
    state.deed = { kind: 'tls' }
  }
  return undefined
}

function parameterReply(fault: ParameterFault): string {
  return fault === 'malformed' ? REPLIES.badParameter : REPLIES.unknownParameter
}

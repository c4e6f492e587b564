import type { Envelope } from '../core/message.ts'
import { parseCommand } from './command-parser.ts'
import { dropData, hasBareNewline, heldBytes, type Taken, takeData, unstuff } from './data.ts'
import { takeLine } from './line-reader.ts'
import { REPLIES } from './replies.ts'
import {
  answer,
  type Deed,
  forgetMail,
  freshState,
  hangUp,
  NOTHING,
  type SmtpLimits,
  type State,
} from './state.ts'
import { STRANGERS, VERBS } from './commands.ts'
import { applyVerdict, type Verdict } from './results.ts'

/** What to write now, and at most one thing to do before the next feed. */
export interface Step {
  replies: string
  deed: Deed | undefined
}

export interface SmtpSession {
  /** Feeds what arrived. Not while a deed is open. */
  feed(chunk: Buffer): Step
  /** Answers the deed that the last step asked for. */
  settle(verdict: Verdict): Step
  /** True from 354 to the answer behind the final dot. */
  inMail(): boolean
  /** Bytes of memory that an unfinished mail takes. */
  heldBytes(): number
  /** Bytes of mail received since the session began, also of mail that was not kept. */
  dataBytes(): number
  /** Lets the unfinished mail go; its sender hears 452 at its end. */
  dropMail(): void
}

/** The receiving side of one SMTP conversation as a function of bytes: no socket, no clock, no chance. */
export function smtpSession(limits: SmtpLimits, clientIp: string): SmtpSession {
  const state = freshState(limits, clientIp)
  return {
    feed(chunk) {
      state.chunk = chunk
      state.at = 0
      return advance(state)
    },
    settle(verdict) {
      applyVerdict(state, verdict)
      return advance(state)
    },
    inMail: () => state.incoming !== undefined || state.deed?.kind === 'mail',
    heldBytes: () => (state.incoming ? heldBytes(state.incoming) : 0),
    dataBytes: () => state.dataBytes,
    dropMail() {
      if (state.incoming) dropData(state.incoming, 'no_space')
    },
  }
}

function advance(state: State): Step {
  while (state.deed === undefined && state.at < state.chunk.length) {
    if (state.incoming) readMail(state)
    else readCommand(state)
  }
  if (state.at >= state.chunk.length) state.chunk = NOTHING
  const step = { replies: state.replies, deed: state.deed }
  state.replies = ''
  return step
}

function readCommand(state: State): void {
  const { chunk, at, lines, limits } = state
  // A TLS handshake on the plain port starts with this byte, and may never send a newline.
  if (chunk[at] === 0x16 && lines.partial === '' && !lines.skipping) {
    hangUp(state, REPLIES.notSmtp, 'not_smtp')
    return
  }
  state.at = takeLine(lines, chunk, { from: at, maxBytes: limits.maxLineBytes })
  const line = lines.line
  if (!line) return
  state.commands += 1
  if (state.commands > limits.maxCommands) {
    hangUp(state, REPLIES.tooManyCommands, 'too_many_commands')
  } else if ('text' in line) runCommand(state, line.text)
  else answer(state, line.fault === 'too_long' ? REPLIES.lineTooLong : REPLIES.badLine)
}

function runCommand(state: State, text: string): void {
  const { verb, argument } = parseCommand(text)
  const run = VERBS.get(verb)
  if (run) {
    const reply = run(state, argument)
    if (reply !== undefined) answer(state, reply)
  } else if (STRANGERS.has(verb) || verb.startsWith('SSH-')) {
    hangUp(state, REPLIES.notSmtp, 'not_smtp')
  } else answer(state, REPLIES.unknownCommand)
}

function readMail(state: State): void {
  if (!state.incoming) return
  const from = state.at
  const taken = takeData(state.incoming, state.chunk, from)
  if (taken === 'endless') {
    state.at = state.chunk.length
    hangUp(state, REPLIES.tooBig, 'too_big')
  } else if (taken === 'more') state.at = state.chunk.length
  else {
    state.at = taken.next
    endMail(state, taken)
  }
  state.dataBytes += state.at - from
}

function endMail(state: State, end: Exclude<Taken, string>): void {
  if ('dropped' in end) {
    answer(state, end.dropped === 'too_big' ? REPLIES.tooBig : REPLIES.noSpace)
    forgetMail(state)
  } else if (state.limits.refuseBareNewlines && hasBareNewline(end.stuffed)) {
    answer(state, REPLIES.bareNewline)
    forgetMail(state)
  } else {
    state.incoming = undefined
    state.deed = {
      kind: 'mail',
      raw: unstuff(end.stuffed, end.plain),
      recipients: [...state.recipients.values()],
      envelope: envelopeOf(state),
    }
  }
}

function envelopeOf(state: State): Envelope {
  const { clientIp, helo = '', sender, tls } = state
  return { clientIp, helo, mailFrom: sender?.path ?? '', tls, protocol: protocolOf(state) }
}

/** The word for `Received`, as registered with IANA. */
function protocolOf({ extended, sender, tls }: State): string {
  if (!extended) return 'SMTP'
  const secure = tls === undefined ? '' : 'S'
  return sender?.utf8 ? `UTF8SMTP${secure}` : `ESMTP${secure}`
}

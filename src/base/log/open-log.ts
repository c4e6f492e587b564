import { fstatSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { pino } from 'pino'
import { hasErrorCode } from '../problem.ts'
import { printableLines } from '../text.ts'
import type { Log, LogFacts } from './log.ts'
import { redactFacts, redactText } from './redact.ts'

export interface LogOptions {
  level: 'debug' | 'info' | 'warn' | 'error'
  /** main, smtp, http, … */
  thread: string
}

interface LogSink {
  write(line: string): void
  /** Human-readable instead of JSON. */
  pretty: boolean | 'colours'
  /** With a prefix by which journald knows the priority of a line. */
  journal?: boolean
}

/** The log of one thread. Each thread opens its own; lines of several threads do not mix. */
export function openLog(
  { level, thread }: LogOptions,
  sink: LogSink = { write: lineWriter(), pretty: isatty(1) && 'colours', journal: isJournal(1) },
): Log {
  // JSON escapes line breaks, but not other characters that terminals and line readers interpret.
  const pretty = (line: string) => prettyLine(line, sink.pretty === 'colours')
  const finish = sink.pretty ? pretty : sink.journal ? journalLine : printableLines
  const logger = pino(
    {
      level,
      base: { thread },
      // redactFacts has already made it a plain object.
      serializers: { err: (err: unknown) => err },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => sink.write(finish(line)) },
  )

  function logAt(at: LogOptions['level']) {
    return (facts: LogFacts, message: string) => {
      if (logger.isLevelEnabled(at)) logger[at](redactFacts(facts), redactText(message))
    }
  }

  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
}

/** Whether systemd connected the descriptor to its journal: $JOURNAL_STREAM is device and inode of the connection. */
export function isJournal(descriptor: number, stream = process.env['JOURNAL_STREAM']): boolean {
  if (stream === undefined) return false
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    return stream === `${dev}:${ino}`
  } catch {
    // It is closed.
    return false
  }
}

/** sd-daemon(3): the priorities of syslog. */
const PRIORITIES: Record<string, number> = { debug: 7, info: 6, warn: 4, error: 3 }
// pino writes the level first.
const LEVEL = /^\{"level":"(\w+)"/

function journalLine(json: string): string {
  const level = LEVEL.exec(json)?.[1] ?? ''
  return `<${PRIORITIES[level] ?? 6}>${printableLines(json)}`
}

const NEW_LINE = 10
const BUSY_MS = 10
const SLEEP_CELL = new Int32Array(new SharedArrayBuffer(4))

/**
 * Writes whole lines and ignores errors: a full disk under the log must not stop intake. The next line is tried again. Directly
 * to the descriptor: in a worker thread, process.stdout goes through the main thread, and buffered lines are lost when the
 * thread dies, which is when a log matters most.
 */
export function lineWriter(
  write: (bytes: Uint8Array) => number = (bytes) => writeSync(1, bytes),
): (line: string) => void {
  let isPartial = false
  return (line) => {
    // After a partial line, start a new one.
    const bytes = Buffer.from(isPartial ? `\n${line}` : line)
    let done = 0
    while (done < bytes.length) {
      try {
        done += write(bytes.subarray(done))
      } catch (error) {
        // A non-blocking pipe whose reader is slow.
        if (!hasErrorCode(error, 'EAGAIN')) break
        Atomics.wait(SLEEP_CELL, 0, 0, BUSY_MS)
      }
    }
    if (done > 0) isPartial = bytes[done - 1] !== NEW_LINE
  }
}

const COLOURS: Record<string, string> = { debug: '2', info: '36', warn: '33', error: '31' }

interface LogLine {
  level: string
  time: string
  thread: string
  msg: string
  err?: { message: string; stack?: string }
  [fact: string]: unknown
}

/** For people: time, level, thread, message, then the facts. Still one line per event. */
function prettyLine(json: string, hasColours: boolean): string {
  const { level, time, thread, msg, err, ...facts }: LogLine = JSON.parse(json)
  const name = level.padEnd(5)
  const word = hasColours ? `\u001b[${COLOURS[level] ?? '0'}m${name}\u001b[0m` : name
  const shown = Object.entries(facts).map(([fact, value]) => ` ${fact}=${factText(value)}`)
  const stack = err && (err.stack ?? err.message).replaceAll(/\n\s*/g, ' ← ')
  const error = stack === undefined ? '' : ` err=${factText(stack)}`
  return `${time.slice(11, 19)} ${word} ${thread}  ${escaped(msg)}${shown.join('')}${error}\n`
}

function factText(value: unknown): string {
  const json = printableLines(JSON.stringify(value))
  return /^"[\w.:/@…+-]+"$/.test(json) ? json.slice(1, -1) : json
}

function escaped(text: string): string {
  return printableLines(JSON.stringify(text)).slice(1, -1)
}

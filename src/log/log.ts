import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { pino } from 'pino'
import type { Log, LogFacts } from '../core/log.ts'
import { hasErrorCode } from '../core/problem.ts'
import { printableLines } from '../core/text.ts'
import { clearFacts, clearText } from './redact.ts'

export interface LogOptions {
  level: 'debug' | 'info' | 'warn' | 'error'
  /** Which thread speaks: main, smtp, http, … */
  thread: string
}

/** Where finished lines go. */
interface LogSink {
  write(line: string): void
  /** For people, instead of JSON. */
  pretty: boolean
}

/** The log of one thread. Every thread makes its own; lines of several threads do not mix. */
export function openLog({ level, thread }: LogOptions, sink: LogSink = standardOutput()): Log {
  // JSON escapes line breaks, but leaves other characters bare that a terminal or a line reader acts on.
  const finish = sink.pretty ? prettyLine : printableLines
  const logger = pino(
    {
      level,
      base: { thread },
      // clearFacts has made a plain object of it already.
      serializers: { err: (err: unknown) => err },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => sink.write(finish(line)) },
  )

  function speak(at: LogOptions['level']) {
    return (facts: LogFacts, sentence: string) => {
      if (logger.isLevelEnabled(at)) logger[at](clearFacts(facts), clearText(sentence))
    }
  }

  return { debug: speak('debug'), info: speak('info'), warn: speak('warn'), error: speak('error') }
}

/**
 * Written to the descriptor, one write a line: in a worker thread process.stdout goes through the main thread, and what
 * it still holds is lost when the thread dies, which is when a log matters most.
 */
function standardOutput(): LogSink {
  return { write: lineWriter(), pretty: isatty(1) }
}

const NEW_LINE = 10
const BUSY_MS = 10
const never = new Int32Array(new SharedArrayBuffer(4))

/**
 * Writes whole lines, and swallows what goes wrong: there is nowhere left to tell it, and a full disk under the log is
 * no reason to stop taking mail. The next line is tried anew.
 */
export function lineWriter(
  write: (bytes: Uint8Array) => number = (bytes) => writeSync(1, bytes),
): (line: string) => void {
  let torn = false
  return (line) => {
    // Behind half a line, a line of its own is still one.
    const bytes = Buffer.from(torn ? `\n${line}` : line)
    let done = 0
    while (done < bytes.length) {
      try {
        done += write(bytes.subarray(done))
      } catch (fault) {
        // A pipe that does not block and whose reader is behind.
        if (!hasErrorCode(fault, 'EAGAIN')) break
        Atomics.wait(never, 0, 0, BUSY_MS)
      }
    }
    if (done > 0) torn = bytes[done - 1] !== NEW_LINE
  }
}

const COLOURS: Record<string, string> = { debug: '2', info: '36', warn: '33', error: '31' }

interface Line {
  level: string
  time: string
  thread: string
  msg: string
  err?: { message: string; stack?: string }
  [fact: string]: unknown
}

/** For people at a terminal: time, level, thread, sentence, then the facts. Still one line per event. */
export function prettyLine(json: string): string {
  const { level, time, thread, msg, err, ...facts }: Line = JSON.parse(json)
  const word = `\u001b[${COLOURS[level] ?? '0'}m${level.padEnd(5)}\u001b[0m`
  const shown = Object.entries(facts).map(([name, value]) => ` ${name}=${factText(value)}`)
  const stack = err && (err.stack ?? err.message).replaceAll(/\n\s*/g, ' ← ')
  const fault = stack === undefined ? '' : ` err=${factText(stack)}`
  return `${time.slice(11, 19)} ${word} ${thread}  ${bare(msg)}${shown.join('')}${fault}\n`
}

function factText(value: unknown): string {
  const json = printableLines(JSON.stringify(value))
  return /^"[\w.:/@…+-]+"$/.test(json) ? json.slice(1, -1) : json
}

function bare(text: string): string {
  return printableLines(JSON.stringify(text)).slice(1, -1)
}

import { isatty } from 'node:tty'
import { pino } from 'pino'
import type { Log, LogFacts } from '../core/log.ts'
import { printableLines } from '../core/printable.ts'
import { lineWriter, prettyLine } from './output.ts'
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

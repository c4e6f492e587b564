import { writeSync } from 'node:fs'
import { printableLines } from '../core/printable.ts'
import { hasCode } from '../core/problem.ts'

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
        if (!hasCode(fault, 'EAGAIN')) break
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

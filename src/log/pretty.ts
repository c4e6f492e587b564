import { printableLines } from '../core/printable.ts'

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

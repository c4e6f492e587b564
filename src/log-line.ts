// What JSON leaves bare although a terminal, a pager or a line reader may act on it: DEL and the C1 controls, the two
// Unicode line ends, and the marks that turn the reading direction.
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** The same JSON with every character escaped that could forge or hide a line. */
export function escapeLine(json: string): string {
  return json.replace(UNSAFE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
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
  const json = escapeLine(JSON.stringify(value))
  return /^"[\w.:/@…+-]+"$/.test(json) ? json.slice(1, -1) : json
}

function bare(text: string): string {
  return escapeLine(JSON.stringify(text)).slice(1, -1)
}

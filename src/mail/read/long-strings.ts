import { randomUUID } from 'node:crypto'
import { runSteps } from '../../base/run-steps.ts'

/** A JSON value whose long strings are still JSON. */
export interface CompactJson {
  /** With a placeholder, which nobody can guess, for each of them. */
  value: unknown
  /** By placeholder: JSON in UTF-8, with the quotes. Views of the bytes that they were found in. */
  long: ReadonlyMap<string, Buffer>
}

/**
 * Parses all but the strings of more than `maxBytes`, in steps: to parse a mail of 10 MB and to serialize it again would block
 * this thread for 150 ms.
 */
export async function parseCompact(json: Buffer, maxBytes: number): Promise<CompactJson> {
  const long = new Map<string, Buffer>()
  if (json.length <= maxBytes) return { value: JSON.parse(json.toString()), long }
  let [text, at] = ['', 0]
  for (const [start, end] of await runSteps(findStrings(json, maxBytes))) {
    const placeholder = randomUUID()
    long.set(placeholder, json.subarray(start, end))
    text += `${json.toString('utf8', at, start)}"${placeholder}"`
    at = end
  }
  return { value: JSON.parse(text + json.toString('utf8', at)), long }
}

const QUOTE = '"'.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)
// Less than a millisecond.
const STEP_BYTES = 256 * 1024

/** Offsets of the strings of more than `maxBytes`. Outside of strings there are no backslashes. */
function* findStrings(json: Buffer, maxBytes: number): Generator<void, [number, number][]> {
  const found: [number, number][] = []
  let [start, stop] = [-1, STEP_BYTES]
  for (let at = 0; at < json.length; at += 1) {
    if (at >= stop) {
      yield
      stop = at + STEP_BYTES
    }
    const byte = json[at]
    if (byte === BACKSLASH) at += 1
    else if (byte === QUOTE) {
      const isEnd = start >= 0
      if (isEnd && at - start > maxBytes) found.push([start, at + 1])
      start = isEnd ? -1 : at
    }
  }
  return found
}

const U = 'u'.charCodeAt(0)

/** The beginning of a long string: the characters of its first `bytes`. */
export function headOf(json: Buffer, bytes: number): string {
  let at = 1
  while (at < json.length - 1 && (at < bytes || isContinuation(json[at]))) {
    if (json[at] !== BACKSLASH) at += 1
    else at += json[at + 1] === U ? 6 : 2
  }
  return JSON.parse(`${json.toString('utf8', 0, at)}"`)
}

/** True for a continuation byte of a UTF-8 character. */
function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}

/** The value as JSON, with the long strings in their places. They are not copied. */
export function jsonParts(value: unknown, long: CompactJson['long']): Buffer[] {
  const json = JSON.stringify(value)
  if (long.size === 0) return [Buffer.from(json)]
  return json
    .split(new RegExp(`"(${[...long.keys()].join('|')})"`))
    .map((part) => long.get(part) ?? Buffer.from(part))
}

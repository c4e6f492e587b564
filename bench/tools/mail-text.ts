import { writeFileSync } from 'node:fs'

const WORDS = `account address again always answer because before between button change click code
confirm could customer delivery device email every first follow friend hello help invoice link login
message minute month never number offer only order other password payment people please price product
question receive register request safe second secure send service shop sign soon support team thank
their there these time today token under update verify view visit week welcome where which window work
year your`.split(/\s+/)

/**
 * A mail of `bytes` bytes with CRLF: HTML of random words, tags and URLs that compresses about as well as real shop mail.
 * Deterministic.
 */
export function mailText(bytes: number): string {
  const random = randomGenerator(bytes)
  const word = () => WORDS[Math.floor(random() * WORDS.length)] ?? ''
  const lines = [
    'From: "The Shop" <news@sender.test>',
    'To: you@box.test',
    'Subject: Your order is on its way',
    'Message-ID: <1@sender.test>',
    'Date: Sun, 01 Mar 2026 12:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/html; charset=utf-8',
    '',
  ]
  let left = bytes - lines.reduce((sum, line) => sum + line.length + 2, 0)
  while (left > 2) {
    const code = Math.floor(random() * 2 ** 32).toString(36)
    const words = Array.from({ length: 7 }, word).join(' ')
    const line = `<p class="${word()}"><a href="https://sender.test/${code}">${words}</a></p>`
    lines.push(line.slice(0, left - 2))
    left -= Math.min(line.length, left - 2) + 2
  }
  return `${lines.join('\r\n')}\r\n`
}

/** With LF, because smtp-source writes the CRs itself. */
export function writeMail(path: string, bytes: number): string {
  writeFileSync(path, mailText(bytes).replaceAll('\r', ''))
  return path
}

/** mulberry32 */
function randomGenerator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

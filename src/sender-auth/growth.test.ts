import { expect, test } from 'vitest'
import { isSlowerThan } from '../../test/kit/mail/growth.ts'
import { checkSender } from './check.ts'
import { SAMPLE_MAIL } from './testing/fixture.ts'

// Compares the CPU time for one long header with that for its eight parts. Quadratic time would take 8 times as much; 4 is the limit.
const LONGEST = 32_768
const PARTS = 8
const MAX_GROWTH = 4
const TIMEOUT_MS = 180_000

const SIGNATURE =
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.test; s=s1; h=from; bh=x; b='
const BLANKS = ' '.repeat(499)

for (const [name, head] of [
  ['folded blanks in a signature', (long) => `${SIGNATURE}${long('\n ')}x\r\n`],
  ['blanks in a signature', (long) => `${SIGNATURE}${long(' ')}x\r\n`],
  ['many runs of blanks in a signature', (long) => `${SIGNATURE}${long(`${BLANKS}x`)}x\r\n`],
  ['dots in a domain', (long) => `${SIGNATURE.replace('d=', `d=a${long('.')}`)}x\r\n`],
  ['bare CR', (long) => `X: ${long('\r')}x\r\n`],
  ['folded lines', (long) => `X: y${long('\n a')}\r\n`],
  ['lines that are no field', (long) => `X: y\n${long('a\n')}\r\n`],
  ['short fields', (long) => long('x:\n')],
  [
    'signed fields',
    (long) => `${SIGNATURE.replace('from', `from${long(':x')}`)}x\n${long('x:\n')}`,
  ],
  ['signatures', (long) => long(`${SIGNATURE}\r\n`)],
  ['groups in From', (long) => `From: ${long('a:')}\r\n`],
  ['authors', (long) => `From: ${long('x@evil.test, ')}x@evil.test\r\n`],
] satisfies [string, (long: (piece: string) => string) => string][]) {
  test(`time to check signatures is linear: ${name}`, { timeout: TIMEOUT_MS }, async () => {
    const mail = (bytes: number) =>
      Buffer.from(head((piece) => piece.repeat(bytes / piece.length)) + SAMPLE_MAIL)
    const [whole, part] = [mail(LONGEST), mail(LONGEST / PARTS)]
    const isSuperlinear = await isSlowerThan(
      MAX_GROWTH,
      async () => {
        for (let at = 0; at < PARTS; at += 1) await checkDkim(part)
      },
      () => checkDkim(whole),
    )
    expect(isSuperlinear).toBe(false)
  })
}

async function checkDkim(raw: Buffer): Promise<void> {
  await checkSender({ kind: 'dkim', raw, receivedAt: new Date(), answers: new Map() })
}

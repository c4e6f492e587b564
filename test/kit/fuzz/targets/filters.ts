import { foldCase } from '../../../../src/base/case-folding.ts'
import { Problem } from '../../../../src/base/problem.ts'
import { parseConditions } from '../../../../src/mail/api/check-mail-filter.ts'
import { matchesFilter, searchSteps } from '../../../../src/mail/rules/filter.ts'
import { bytesOf, mailSeeds } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const texts = mailSeeds()
  .slice(0, 150)
  .map((mail) => mail.toString().slice(0, 600))

/** Conditions of check-mail, one per line: from, subject, q; then the text of a mail that they are compared with. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    ...texts.map((text) => `shop.test\nyour code\nhello\n${text}`),
    'ann@SHOP.test\nStraße\nİstanbul\nIM STRASSE K ﬁ',
    '[127.0.0.1]\n\u0301\n👩‍👧\nq\u0307\u0323 q\u0323\u0307',
  ]),
  tokens: [
    ...[
      '\n',
      '@',
      '.',
      '%',
      '_',
      '\\',
      '*',
      "'",
      '"',
      '\0',
      'ß',
      'ẞ',
      'ss',
      'İ',
      'ı',
      'ς',
      'Σ',
      'K',
      'ﬁ',
      'ŉ',
      'ΐ',
    ],
    ...[
      '\u0301',
      'e\u0301',
      'é',
      '\u0345',
      '\u1fb7',
      '한',
      '\u1112\u1161',
      '\u{1d5a0}',
      '👍🏽',
      '\u200d',
      '\ufeff',
    ],
  ],
  maxBytes: 2 * 1024,
  hangMs: 2_000,
  maxCost: 20,
  run(input) {
    const [from = '', subject = '', q = '', ...rest] = input.toString().split('\n')
    const text = rest.join('\n')
    const message = {
      senderName: text.slice(0, 50),
      senderEmail: from,
      subject: text,
      code: '',
      links: 1,
    }
    const condition = unlessRefused({ from, subject, q })
    if (condition?.filter) matchesFilter(condition.filter, message)
    const own = unlessRefused({ subject: text.slice(0, 100) })
    // What is cut out of a text may begin with a mark that belongs to the character before it.
    if (own?.filter)
      check(matchesFilter(own.filter, message) === true, 'a text without its own beginning')
    if (condition?.search === undefined) return
    const steps = searchSteps(condition.search, text)
    let step = steps.next()
    while (!step.done) step = steps.next()
    const isThere = foldCase(text.toWellFormed()).includes(condition.search)
    check(step.value === isThere, `found: ${step.value}, but it is there: ${isThere}`)
  },
}

function unlessRefused(input: Parameters<typeof parseConditions>[0]) {
  try {
    return parseConditions(input)
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}

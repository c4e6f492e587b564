import { foldCase, foldingBoundary } from '../../../../src/base/case-folding.ts'
import { Problem } from '../../../../src/base/problem.ts'
import { parseConditions } from '../../../../src/mail/api/check-mail-filter.ts'
import { matchesFilter, searchSteps } from '../../../../src/mail/rules/filter.ts'
import { bytesOf, mailSeeds } from '../seeds.ts'
import { check, type FuzzTarget, resultOf } from '../target.ts'

const texts = mailSeeds()
  .slice(0, 150)
  .map((mail) => mail.toString().slice(0, 600))

const MANY_MARKS = /\p{M}{13}/u

/** Conditions of check-mail, one per line: from, subject, q; then the text of a mail that they are compared with. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    ...texts.map((text) => `shop.test\nyour code\nhello\n${text}`),
    'shop.test\nhello\nhello\nhello',
    'ann@SHOP.test\nStraße\nİstanbul\nIM STRASSE K ﬁ',
    '[127.0.0.1]\n\u0301\n👩‍👧\nq\u0307\u0323 q\u0323\u0307',
  ]),
  tokens: (
    '\n|@|.|%|_|\\|*|"|\0|ß|ẞ|ss|İ|ı|ς|Σ|\u212a|ﬁ|ŉ|ΐ|\u0301|e\u0301|é|\u0345|\u1fb7|한|\u1112\u1161|\u{1d5a0}|👍🏽|\u200d|\ufeff|' +
    "'"
  ).split('|'),
  maxBytes: 2 * 1024,
  run: (input) => resultsOf(input).search !== undefined,
  compare(input) {
    const { text, subject, filter, own, search } = resultsOf(input)
    const folded = foldCase(text)
    if (filter !== undefined) {
      const isInSubject = folded.includes(foldCase(subject))
      check(filter === isInSubject, `subject: ${!isInSubject}`)
    }
    // Marks are sorted, as far as there are few of them: half of a long run may be in another order.
    if (own !== undefined && !MANY_MARKS.test(text))
      check(own === true, 'a text without its own beginning')
    if (search === undefined) return
    const isThere = folded.includes(search.text)
    check(search.isFound === isThere, `found: ${search.isFound}, but it is there: ${isThere}`)
  },
}

/** Undefined: there is no such condition, or it was refused. */
function resultsOf(input: Buffer) {
  const [from = '', subject = '', q = '', ...rest] = input.toString().split('\n')
  const text = rest.join('\n')
  const [senderName, senderEmail] = [text.slice(0, 50), addressOf(from.trim())]
  const message = { senderName, senderEmail, subject: text, code: '', links: 1 }
  const condition = unlessRefused({ from, subject, q })
  const own = unlessRefused({ subject: text.slice(0, foldingBoundary(text, 100)) })
  return {
    ...{ text, subject },
    filter: condition?.filter && matchesFilter(condition.filter, message),
    own: own?.filter && matchesFilter(own.filter, message),
    search: condition?.search && {
      text: condition.search,
      isFound: resultOf(searchSteps(condition.search, text)),
    },
  }
}

/** One that a condition of this sender or domain accepts. */
function addressOf(from: string): string {
  return from.includes('@') ? from : `ann@${from}`
}

function unlessRefused(input: Parameters<typeof parseConditions>[0]) {
  try {
    return parseConditions(input)
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}

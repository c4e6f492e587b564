import { expect, test } from 'vitest'
import { fetchedTwice } from './kit/crash/gmail-actor.ts'
import { missingNumbers, orderFaults, quotaFaults } from './kit/crash/key-actors.ts'
import { expiryFault } from './kit/crash/session-actor.ts'
import { compareMailbox } from './kit/store/ledger.ts'

// The checks of `npm run campaign` find violations that are planted here.

const line = { uuid: 'a', sha256: '1', token: 't' }
const mails = (...hashes: string[]) => new Map([['a', hashes]])

test.for<[string, ReturnType<typeof compareMailbox>, RegExp | undefined]>([
  ['there', compareMailbox([line], mails('1')), undefined],
  ['missing', compareMailbox([line], new Map()), /missing/],
  ['changed', compareMailbox([line], mails('2')), /changed/],
  ['twice', compareMailbox([line], mails('1', '1')), /twice/],
  ['deleted', compareMailbox([{ ...line, deletion: 'done' }], new Map()), undefined],
  ['back', compareMailbox([{ ...line, deletion: 'done' }], mails('1')), /back/],
  ['perhaps deleted', compareMailbox([{ ...line, deletion: 'requested' }], new Map()), undefined],
  ['perhaps there', compareMailbox([{ ...line, deletion: 'requested' }], mails('1')), undefined],
  ['charged', quotaFaults({ answered: 9, lost: 2 }, { used: 10, limit: 10 }), undefined],
  ['over the plan', quotaFaults({ answered: 11, lost: 0 }, { used: 11, limit: 10 }), /plan of 10/],
  ['not charged', quotaFaults({ answered: 9, lost: 0 }, { used: 8, limit: 10 }), /only 8 charged/],
  ['overcharged', quotaFaults({ answered: 5, lost: 1 }, { used: 7, limit: 10 }), /1 in flight/],
  ['in order', orderFaults([1, 2, 2, 4]), undefined],
  ['out of order', orderFaults([1, 3, 2]), /mail 2 after mail 3/],
  ['delivered', missingNumbers([1, 3], [1, 2, 3]), undefined],
  ['not delivered', missingNumbers([1, 2], [1]), /mail 2 never/],
  ['fetched', fetchedTwice(['1', '2']), undefined],
  ['fetched twice', fetchedTwice(['1', '2', '1']), /mail 1 .* twice/],
])('mail or a request that is %s is reported if wrong', ([, faults, expected]) => {
  if (expected) expect(faults).toStrictEqual([expect.stringMatching(expected)])
  else expect(faults).toStrictEqual([])
})

test.for<[string, Parameters<typeof expiryFault>, RegExp | undefined]>([
  ['alive', [10_000, { status: 200, before: 0, after: 9_000 }], undefined],
  ['over', [10_000, { status: 401, before: 12_000, after: 12_000 }], undefined],
  ['ending', [10_000, { status: 200, before: 10_500, after: 11_000 }], undefined],
  ['lost', [10_000, { status: 401, before: 0, after: 5_000 }], /gone before/],
  ['revived', [10_000, { status: 200, before: 12_000, after: 12_000 }], /expired at/],
  ['failing', [10_000, { status: 500, before: 0, after: 1 }], /answers 500/],
])('a session that is %s is reported if wrong', ([, args, expected]) => {
  const fault = expiryFault(...args)
  if (expected) expect(fault).toMatch(expected)
  else expect(fault).toBeUndefined()
})

import { expect, test } from 'vitest'
import { backupFaults } from './kit/crash/backup-actor.ts'
import { controlFaults } from './kit/crash/control.ts'
import { fetchFaults } from './kit/crash/gmail-actor.ts'
import { deliveryFaults, orderFaults, quotaFaults } from './kit/crash/key-actors.ts'
import { listFaults } from './kit/crash/mail-actor.ts'
import { logFaults } from './kit/crash/rounds.ts'
import { expiryFault, extensionFault, strayFault, sweepFaults } from './kit/crash/session-actor.ts'
import { compareMailbox } from './kit/store/ledger.ts'

// The checks of `npm run campaign` find violations that are planted here.

const line = { uuid: 'a', sha256: '1', token: 't', isAcknowledged: true }
const unanswered = { ...line, isAcknowledged: false }
const mails = (...hashes: (string | undefined)[]) => new Map([['a', hashes]])
const sent = { expected: [], deleted: [], sent: [line] }
const delivery = { acknowledged: [1, 3], delivered: [1, 2, 3], used: 3 }
const over = { isOver: true }
const backup = { keys: ['k1', 'k2'], failure: undefined, isInterrupted: false }
const lag = (seconds: number) => `# HELP\nmayfly_sweep_lag_seconds ${seconds}\nother 1`

test.for<[string, string[], RegExp | undefined]>([
  ['mail that is there', compareMailbox([line], mails('1')), undefined],
  ['lost mail', compareMailbox([line], new Map()), /missing/],
  ['changed mail', compareMailbox([line], mails('2')), /changed/],
  ['listed mail', compareMailbox([line], mails(undefined)), undefined],
  ['doubled mail', compareMailbox([line], mails('1', '1')), /twice/],
  ['mail without a 250', compareMailbox([unanswered], mails('1')), undefined],
  ['lost mail without a 250', compareMailbox([unanswered], new Map()), undefined],
  ['doubled mail without a 250', compareMailbox([unanswered], mails('1', '1')), /twice/],
  ['changed mail without a 250', compareMailbox([unanswered], mails('2')), /changed/],
  ['mail of others', compareMailbox([], mails('1')), /not sent to/],
  ['deleted mail', compareMailbox([{ ...line, deletion: 'done' }], new Map()), undefined],
  [
    'deleted mail that is back',
    compareMailbox([{ ...line, deletion: 'done' }], mails('1')),
    /back/,
  ],
  [
    'mail that may be deleted and is',
    compareMailbox([{ ...line, deletion: 'requested' }], new Map()),
    undefined,
  ],
  [
    'mail that may be deleted and is not',
    compareMailbox([{ ...line, deletion: 'requested' }], mails('1')),
    undefined,
  ],
  ['a list with it', listFaults({ ...sent, expected: [line] }, ['a']), undefined],
  ['a list without it', listFaults({ ...sent, expected: [line] }, []), /not in a list/],
  ['a list without deleted mail', listFaults({ ...sent, deleted: [line] }, []), undefined],
  ['a list with deleted mail', listFaults({ ...sent, deleted: [line] }, ['a']), /deletion/],
  ['a list with mail of others', listFaults(sent, ['a', 'b']), /b is in a list .* not sent to/],
  [
    'a key that is used up',
    quotaFaults({ answered: 9, lost: 2 }, { used: 10, limit: 10 }),
    undefined,
  ],
  [
    'a key over its plan',
    quotaFaults({ answered: 11, lost: 0 }, { used: 10, limit: 10 }),
    /plan of 10/,
  ],
  [
    'an undercharged key',
    quotaFaults({ answered: 9, lost: 0 }, { used: 8, limit: 10 }),
    /only 8 charged/,
  ],
  [
    'an overcharged key',
    quotaFaults({ answered: 5, lost: 1 }, { used: 10, limit: 10 }),
    /10 requests charged, 5 answered, 1 in flight/,
  ],
  [
    'a key refused too early',
    quotaFaults({ answered: 9, lost: 0 }, { used: 9, limit: 10 }),
    /9 requests of a plan of 10/,
  ],
  ['webhooks in order', orderFaults([1, 2, 2, 4], 4), undefined],
  ['webhooks out of order', orderFaults([1, 3, 2], 3), /mail 2 after mail 3/],
  ['a webhook of another mail', orderFaults([1, Number.NaN], 1), /mail NaN of 1/],
  ['delivered webhooks', deliveryFaults(delivery), undefined],
  ['a missing webhook', deliveryFaults({ ...delivery, acknowledged: [4] }), /mail 4 never/],
  ['a webhook charged twice', deliveryFaults({ ...delivery, used: 4 }), /3 messages .* 4 charged/],
  ['a webhook not charged', deliveryFaults({ ...delivery, used: 2 }), /3 messages .* 2 charged/],
  ['fetched mail', fetchFaults(['2', '1'], ['1', '2'], over), undefined],
  ['mail fetched twice', fetchFaults(['1', '2', '1'], ['1', '2'], over), /mail 1 .* twice/],
  ['mail of another alias', fetchFaults(['1', '2'], ['2'], over), /mail 1 was not delivered/],
  ['mail not fetched', fetchFaults(['2'], ['1', '2'], over), /mail 1 .* not fetched/],
  ['mail not fetched yet', fetchFaults(['2'], ['1', '2'], { isOver: false }), undefined],
  ['a backup', backupFaults(backup, [['k2', 'k1', 'k3']]), undefined],
  ['a backup that lacks a key', backupFaults(backup, [['k1']]), /none with the keys k1,k2/],
  ['a backup that is gone', backupFaults(backup, []), /reported as written/],
  [
    'a backup that cannot be restored',
    backupFaults({ ...backup, failure: 'ended', isInterrupted: true }, [new Error('damaged')]),
    /cannot be restored: Error: damaged/,
  ],
  ['a backup that failed', backupFaults({ ...backup, failure: 'ended with 1' }, []), /with 1/],
  [
    'an interrupted backup',
    backupFaults({ ...backup, failure: 'ended with SIGKILL', isInterrupted: true }, []),
    undefined,
  ],
  ['a sweep', sweepFaults(lag(61)), undefined],
  ['a sweep that does not run', sweepFaults(lag(120)), /wait 120 s/],
  ['a sweep without a figure', sweepFaults('other 1'), /NaN/],
  ['a log without secrets', logFaults('{"msg":"started"}\n', ['t0ken']), undefined],
  ['a log with an address', logFaults('?to=a%40b.test\n', ['a@b.test']), /a%40b/],
  ['a log with a token', logFaults('{"msg":"started"}\n{"a":"t0ken"}\n', ['t0ken']), /"t0ken"/],
  ['a control that loses mail', controlOf('1: a is missing', '2: b is missing'), undefined],
  [
    'a control with a cut that loses nothing',
    // The last cut reports the first loss again.
    controlOf('1: a is missing', '2: a is missing'),
    /fault 2 lost nothing/,
  ],
  [
    'a control that changes mail',
    controlOf('1: a is missing', '2: b is missing', '2: c is changed'),
    /c is changed/,
  ],
])('%s is reported if wrong', ([, faults, expected]) => {
  if (expected) expect(faults).toContainEqual(expect.stringMatching(expected))
  else expect(faults).toStrictEqual([])
})

function controlOf(...faults: string[]): string[] {
  const findings = faults.map((fault) => `fault ${fault}`)
  return controlFaults(findings, 2).findings
}

test.for<[string, string | undefined, RegExp | undefined]>([
  ['alive', expiryFault(10_000, { status: 200, before: 0, after: 9_000 }), undefined],
  ['over', expiryFault(10_000, { status: 401, before: 12_000, after: 12_000 }), undefined],
  ['ending', expiryFault(10_000, { status: 200, before: 10_500, after: 11_000 }), undefined],
  ['lost', expiryFault(10_000, { status: 401, before: 0, after: 5_000 }), /gone before/],
  ['revived', expiryFault(10_000, { status: 200, before: 12_000, after: 12_000 }), /expired at/],
  ['failing', expiryFault(10_000, { status: 500, before: 0, after: 1 }), /answers 500/],
  ['empty', strayFault('a@b.test', []), undefined],
  ['in use', strayFault('a@b.test', [{ subject: 'short-lived a@b.test' }]), undefined],
  ['read by others', strayFault('a@b.test', [{ subject: 'other' }]), /"other" .* not sent to/],
  ['extended', extensionFault(10_000, '1970-01-01T00:00:10.000Z'), undefined],
  ['no longer extended', extensionFault(10_000, '1970-01-01T00:00:09.000Z'), /extended to/],
  ['without an expiry', extensionFault(0, 'undefined'), /expires at undefined/],
])('a session that is %s is reported if wrong', ([, fault, expected]) => {
  if (expected) expect(fault).toMatch(expected)
  else expect(fault).toBeUndefined()
})

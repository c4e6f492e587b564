import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import type { Host } from '../base/address.ts'
import { CommandError } from '../cli/output.ts'
import { addConfiguredDomains } from '../mail/sessions/domains.ts'
import { addAndPrint, changeAndPrint, printDomains } from './commands.ts'

let mail: Awaited<ReturnType<typeof openSqliteTestMail>>
let lines: string[] = []
const print = (line: string) => void lines.push(line)
const defaults = { sessions: true, reader: true }

beforeEach(async () => {
  mail = await openSqliteTestMail()
  lines = []
})
afterEach(() => mail.close())

async function listed(options = {}): Promise<string[]> {
  lines = []
  await printDomains(mail.store, options, print)
  return lines
}

async function exitOf(operation: Promise<void>): Promise<[number, string]> {
  const error = await operation.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof CommandError) return [error.exitCode, error.message]
  throw new Error(`expected a refusal, got ${error}`)
}

test('a new domain is listed with its options', async () => {
  await addAndPrint(mail.store, 'Box.Test', defaults, print)
  expect(lines).toEqual(['Added box.test (id 1).'])
  await addAndPrint(mail.store, 'pool.test', { sessions: false, reader: true, ttl: '2h' }, print)
  await addAndPrint(mail.store, 'bücher.test', { sessions: true, reader: false }, print)
  expect(await listed()).toEqual([
    'ID  NAME                STATE   SESSIONS  READER  LIFETIME',
    '1   box.test            active  yes       yes     default',
    '2   pool.test           active  no        yes     2h',
    '3   xn--bcher-kva.test  active  yes       no      default',
  ])
})

test('a wildcard is added, listed and changed by its name, and is not in the pool', async () => {
  await addAndPrint(mail.store, '*.Box.test', defaults, print)
  expect(lines).toEqual(['Added *.box.test (id 1).'])
  await addAndPrint(mail.store, 'box.test', defaults, print)
  await changeAndPrint(mail.store, '*.box.test', 'deactivate', print)
  expect(lines.at(-1)).toBe('Deactivated *.box.test: it is no longer offered.')
  expect((await listed()).slice(1)).toEqual([
    '1   *.box.test  inactive  yes       no      default',
    '2   box.test    active    yes       yes     default',
  ])
})

test('the list has the whole name, which other commands take', async () => {
  const name = `${'a'.repeat(60)}.${'b'.repeat(60)}.test`
  await addAndPrint(mail.store, name, defaults, print)
  const [, first] = await listed()
  expect(first).toBe(`1   ${name}  active  yes       yes     default`)
})

test('--json has the same fields', async () => {
  await addAndPrint(mail.store, 'box.test', { ...defaults, ttl: '90s' }, print)
  expect(JSON.parse((await listed({ json: true })).join('\n'))).toEqual([
    {
      id: 1,
      name: 'box.test',
      active: true,
      removed: false,
      sessions: true,
      reader: true,
      ttl: '90s',
    },
  ])
})

test('a removed domain is not listed and gets its old id back', async () => {
  await addAndPrint(mail.store, 'a.test', defaults, print)
  await addAndPrint(mail.store, 'b.test', defaults, print)
  await changeAndPrint(mail.store, 'A.test', 'remove', print)
  expect((await listed()).slice(1)).toEqual([expect.stringMatching(/^2 +b\.test/)])
  expect(await listed({ all: true })).toContainEqual(expect.stringMatching(/^1 +a\.test +removed/))
  await addAndPrint(mail.store, 'a.test', { sessions: false, reader: true }, print)
  expect(await listed()).toContainEqual(expect.stringMatching(/^1 +a\.test +active +no/))
})

test('a domain is deactivated and activated', async () => {
  await addAndPrint(mail.store, 'a.test', defaults, print)
  await changeAndPrint(mail.store, 'a.test', 'deactivate', print)
  expect(await listed()).toContainEqual(expect.stringMatching(/^1 +a\.test +inactive/))
  await changeAndPrint(mail.store, 'a.test', 'activate', print)
  expect(await listed()).toContainEqual(expect.stringMatching(/^1 +a\.test +active/))
})

test('an existing domain is refused', async () => {
  await addAndPrint(mail.store, 'a.test', defaults, print)
  expect(await exitOf(addAndPrint(mail.store, 'A.TEST', defaults, print))).toEqual([
    1,
    'A.TEST already exists. See: mayfly domain list',
  ])
})

test('a domain that a key holds is refused', async () => {
  const claim = { id: 'dom_1', keyId: 'k1', name: 'own.test' as Host, token: 't' }
  await mail.store.addOwnDomain({ ...claim, createdAt: new Date() }, 1)
  await mail.store.activateOwnDomain({ id: 'dom_1', keyId: 'k1', now: new Date() })
  expect(await exitOf(addAndPrint(mail.store, 'own.test', defaults, print))).toEqual([
    1,
    'A key holds own.test. See: mayfly own-domain list',
  ])
  const configured = { domains: ['own.test' as Host, 'new.test' as Host], readerDomains: [] }
  expect(await addConfiguredDomains(mail, configured)).toEqual(['own.test'])
})

describe('an unknown domain', () => {
  for (const action of ['remove', 'activate', 'deactivate'] as const) {
    test(`is refused by ${action}, whether it never existed or was removed`, async () => {
      await addAndPrint(mail.store, 'gone.test', defaults, print)
      await changeAndPrint(mail.store, 'gone.test', 'remove', print)
      for (const unknown of ['never.test', 'gone.test']) {
        expect(await exitOf(changeAndPrint(mail.store, unknown, action, print))).toEqual([
          1,
          `${unknown} is not one of our domains. See: mayfly domain list`,
        ])
      }
    })
  }
})

describe('invalid command line', () => {
  for (const name of [
    '',
    'test',
    'a b.test',
    'a..test',
    '-a.test',
    '@a.test',
    'a.test/x',
    '*.test',
    'a.*.test',
    '*a.test',
    '\u001b[2J.test',
  ]) {
    test(`name ${JSON.stringify(name)}`, async () => {
      expect(await exitOf(addAndPrint(mail.store, name, defaults, print))).toEqual([
        2,
        `name: ${JSON.stringify(name)} is not a domain name.`,
      ])
      expect(await mail.store.listDomains()).toEqual([])
    })
  }
  for (const ttl of ['59s', '3651d', '2', 'soon', '']) {
    test(`lifetime ${JSON.stringify(ttl)}`, async () => {
      const [code, line] = await exitOf(
        addAndPrint(mail.store, 'a.test', { ...defaults, ttl }, print),
      )
      expect([code, line]).toEqual([2, expect.stringContaining('1m to 3650d')])
      expect(await mail.store.listDomains()).toEqual([])
    })
  }
})

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../test/support/stores.ts'
import { CommandError } from '../cli/output.ts'
import { addDomain, printDomains, removeDomain, switchDomain } from './commands.ts'

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
  await addDomain(mail.store, 'Box.Test', defaults, print)
  expect(lines).toEqual(['Added box.test (id 1).'])
  await addDomain(mail.store, 'pool.test', { sessions: false, reader: true, ttl: '2h' }, print)
  await addDomain(mail.store, 'bücher.test', { sessions: true, reader: false }, print)
  expect(await listed()).toEqual([
    'ID  NAME                STATE   SESSIONS  READER  LIFETIME',
    '1   box.test            active  yes       yes     default',
    '2   pool.test           active  no        yes     2h',
    '3   xn--bcher-kva.test  active  yes       no      default',
  ])
})

test('the list has the whole name, which other commands take', async () => {
  const name = `${'a'.repeat(60)}.${'b'.repeat(60)}.test`
  await addDomain(mail.store, name, defaults, print)
  const [, first] = await listed()
  expect(first).toBe(`1   ${name}  active  yes       yes     default`)
})

test('--json has the same fields', async () => {
  await addDomain(mail.store, 'box.test', { ...defaults, ttl: '90s' }, print)
  expect(JSON.parse((await listed({ json: true })).join('\n'))).toEqual([
    {
      id: 1,
      name: 'box.test',
      active: true,
      removed: false,
      sessions: true,
      reader: true,
      ttlSeconds: 90,
    },
  ])
})

test('a removed domain is not listed and gets its old id back', async () => {
  await addDomain(mail.store, 'a.test', defaults, print)
  await addDomain(mail.store, 'b.test', defaults, print)
  await removeDomain(mail.store, 'A.test', print)
  expect((await listed()).slice(1)).toEqual([expect.stringMatching(/^2 +b\.test/)])
  expect(await listed({ all: true })).toContainEqual(expect.stringMatching(/^1 +a\.test +removed/))
  await addDomain(mail.store, 'a.test', { sessions: false, reader: true }, print)
  expect(await listed()).toContainEqual(expect.stringMatching(/^1 +a\.test +active +no/))
})

test('a domain is deactivated and activated', async () => {
  await addDomain(mail.store, 'a.test', defaults, print)
  await switchDomain(mail.store, 'a.test', false, print)
  expect(await listed()).toContainEqual(expect.stringMatching(/^1 +a\.test +inactive/))
  await switchDomain(mail.store, 'a.test', true, print)
  expect(await listed()).toContainEqual(expect.stringMatching(/^1 +a\.test +active/))
})

test('an existing domain is refused', async () => {
  await addDomain(mail.store, 'a.test', defaults, print)
  expect(await exitOf(addDomain(mail.store, 'A.TEST', defaults, print))).toEqual([
    1,
    'a.test already exists. See: mayfly domain list',
  ])
})

describe('an unknown domain', () => {
  const actions = {
    remove: (name: string) => removeDomain(mail.store, name, print),
    activate: (name: string) => switchDomain(mail.store, name, true, print),
    deactivate: (name: string) => switchDomain(mail.store, name, false, print),
  }
  for (const [name, operation] of Object.entries(actions)) {
    test(`is refused by ${name}, whether it never existed or was removed`, async () => {
      await addDomain(mail.store, 'gone.test', defaults, print)
      await removeDomain(mail.store, 'gone.test', print)
      for (const unknown of ['never.test', 'gone.test']) {
        expect(await exitOf(operation(unknown))).toEqual([
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
    '\u001b[2J.test',
  ]) {
    test(`name ${JSON.stringify(name)}`, async () => {
      expect(await exitOf(addDomain(mail.store, name, defaults, print))).toEqual([
        2,
        `${JSON.stringify(name)} is not a domain name.`,
      ])
      expect(await mail.store.listDomains()).toEqual([])
    })
  }
  for (const ttl of ['59s', '3651d', '2', 'soon', '']) {
    test(`lifetime ${JSON.stringify(ttl)}`, async () => {
      const [code, line] = await exitOf(
        addDomain(mail.store, 'a.test', { ...defaults, ttl }, print),
      )
      expect([code, line]).toEqual([2, expect.stringContaining('1m to 3650d')])
      expect(await mail.store.listDomains()).toEqual([])
    })
  }
})

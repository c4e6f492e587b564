import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { domainName, parseMailDomain } from '../../base/address.ts'
import { addConfiguredDomains } from './domains.ts'

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
beforeEach(async () => {
  opened = await openSqliteTestMail()
})
afterEach(() => opened.close())

const names = (text: string) =>
  text
    .split(' ')
    .map(parseMailDomain)
    .filter((name) => name !== undefined)
const start = (domains: string, readers = '') =>
  addConfiguredDomains(opened, { domains: names(domains), readerDomains: names(readers) })
const known = async () =>
  (await opened.store.listDomains()).map(({ id, active, removed, sessions, reader, ...domain }) =>
    [
      ...[id, domainName(domain), active && !removed ? 'on' : 'off'],
      ...[sessions && 'sessions', reader && 'reader'],
    ]
      .filter((word) => word !== false)
      .join(' '),
  )

test('domains are added once and keep their ids; without reader domains all are reader domains', async () => {
  await start('a.test b.test')
  await start('c.test b.test')
  expect(await known()).toStrictEqual([
    '1 a.test on sessions reader',
    '2 b.test on sessions reader',
    '3 c.test on sessions reader',
  ])
})

test('a domain removed or deactivated by the operator stays so', async () => {
  await start('a.test b.test')
  for (const name of names('a.test')) await opened.store.changeDomain(name, { removed: true })
  for (const name of names('b.test')) await opened.store.changeDomain(name, { active: false })
  await start('a.test b.test')
  expect(await known()).toStrictEqual([
    '1 a.test off sessions reader',
    '2 b.test off sessions reader',
  ])
})

test('configured reader domains replace the default, and need not accept sessions', async () => {
  await start('a.test b.test')
  const options = { sessions: true, reader: true, ttlSeconds: undefined }
  for (const name of names('hand.test')) await opened.store.addDomain({ name, ...options })
  await start('a.test b.test', 'b.test only.test')
  expect(await known()).toStrictEqual([
    '1 a.test on sessions',
    '2 b.test on sessions reader',
    '3 hand.test on sessions reader',
    '4 only.test on reader',
  ])
  await start('a.test b.test only.test')
  expect((await known()).slice(0, 4)).toStrictEqual([
    '1 a.test on sessions reader',
    '2 b.test on sessions reader',
    '3 hand.test on sessions reader',
    '4 only.test on sessions reader',
  ])
})

test('a wildcard is a reader domain only while the setting names it', async () => {
  await start('a.test *.a.test')
  const options = { sessions: true, reader: false, ttlSeconds: undefined }
  for (const name of names('*.hand.test')) await opened.store.addDomain({ name, ...options })
  expect(await known()).toStrictEqual([
    '1 a.test on sessions reader',
    '2 *.a.test on sessions',
    '3 *.hand.test on sessions',
  ])
  await start('a.test *.a.test', '*.a.test *.hand.test')
  expect(await known()).toStrictEqual([
    '1 a.test on sessions',
    '2 *.a.test on sessions reader',
    '3 *.hand.test on sessions reader',
  ])
  await start('a.test *.a.test', 'a.test')
  expect(await known()).toStrictEqual([
    '1 a.test on sessions reader',
    '2 *.a.test on sessions',
    '3 *.hand.test on sessions',
  ])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { LEDGER_KEY } from '../../../test/kit/store/address-ledger.ts'
import { ADMIN_TOKEN, adminClient, assertProblem } from '../../admin/api/testing/admin-client.ts'
import { eventHashes, type MailLogEvent, mailLogKey, mailLogLine } from './rules.ts'

let server: TestServer
beforeAll(async () => {
  server = await openTestServer({
    env: { MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN, MAYFLY_MAIL_LOG: 'off' },
  })
  const event: MailLogEvent = {
    ...{
      at: server.now(),
      result: 'refused',
      reason: '550 5.1.1 No such mailbox',
      command: 'RCPT',
    },
    ip: '192.0.2.1',
    sender: 'ann@sender.test',
  }
  const events = ['lauren@box.test', 'other@box.test', 'lauren@box.test'].map((address, at) => {
    return { ...event, id: `id${at}`, recipients: [{ address }] }
  })
  const key = mailLogKey(LEDGER_KEY)
  await server.store.addLogLines(
    events.map((one) => ({ line: mailLogLine(one, 'masked'), hashes: eventHashes(key, one) })),
  )
})
afterAll(() => server.stop())

const { call, read, pages } = adminClient(() => server.url)

test('lines are listed by pages, with the mode of the log', async () => {
  expect(await pages('/mail-log', 'lines')).toEqual([['id2'], ['id1'], ['id0']])
  expect(await read('/mail-log', { to: 'lauren@box.test', limit: '1' })).toMatchObject({
    mode: 'off',
    lines: [{ id: 'id2', recipients: 'l…n@box.test', client_ip: '192.0.2.1', count: 1 }],
  })
  expect(await pages('/mail-log', 'lines', 'id', { to: 'lauren@box.test' })).toEqual([
    ['id2'],
    ['id0'],
  ])
})

test('400: a parameter that is none', async () => {
  for (const [name, value] of Object.entries({
    to: 'not a domain',
    from: 'a b',
    ip: '192.0.2',
    result: 'lost',
    before: 'x',
  })) {
    const response = await call('GET', '/mail-log', { [name]: value })
    assertProblem(response, 400, 'invalid_parameter')
    expect(response.body['message']).toMatch(new RegExp(`^${name}: must be `))
  }
})

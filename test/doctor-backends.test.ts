import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAddress } from '../src/base/address.ts'
import { verifyMailer } from '../src/base/mailer.ts'
import { readConfig } from '../src/runtime/config.ts'
import { openMailStoreIfExists, serverInspection } from '../src/runtime/stores.ts'
import { EVENT_TYPES } from '../src/shop/pay/stripe-events.ts'
import { expectOnly, useCheckedApp, withServer, wrong } from './kit/app/checked-app.ts'
import { freePort } from './kit/programs/server-process.ts'
import { openRedis, type TestRedis } from './kit/redis/redis.ts'
import { openPostgres, type Postgres } from './kit/store/postgres.ts'

// Servers that the service depends on, each with a fault that one check reports with its fix.

const { fixture, check, set } = useCheckedApp()

describe('PostgreSQL', () => {
  let postgres: Postgres
  let database: string
  beforeAll(async () => {
    postgres = await openPostgres()
    database = await postgres.database()
    await postgres.run("create role guest login password 'right'")
    await postgres.run('create role limited login connection limit 0')
    await postgres.run('create role blocked login')
    await postgres.run('create role readonly login')
    await postgres.run('alter role readonly set default_transaction_read_only = on')
    const hba = join(postgres.path, 'cluster', 'pg_hba.conf')
    const rules = ['all guest scram-sha-256', 'all blocked reject', 'all,replication all trust']
    writeFileSync(hba, rules.map((rule) => `local ${rule}\n`).join(''))
    await postgres.run('select pg_reload_conf()')
  })
  afterAll(() => postgres.close())

  const as = (login: string, name = database) =>
    postgres.urlOf(name).replace('mayfly@', `${login}@`)
  for (const [name, url, fix] of [
    ['a wrong password', () => as('guest:wrong'), 'Correct user name and password in MAYFLY_STORE'],
    ['a missing password', () => as('guest'), 'Correct user name and password in MAYFLY_STORE'],
    ['a role that pg_hba.conf rejects', () => as('blocked'), 'Allow this machine in pg_hba.conf'],
    ['an unknown role', () => as('nobody'), 'CREATE ROLE'],
    ['an unknown database', () => as('mayfly', 'no_such'), 'CREATE DATABASE'],
    ['a role at its limit', () => as('limited'), 'CONNECTION LIMIT -1'],
    ['a read-only role', () => as('readonly'), 'default_transaction_read_only = off'],
    ['an unknown host', () => 'postgres://mayfly@no.such.invalid/x', 'Correct the host name'],
  ] as const) {
    test(name, async () => {
      const results = await check({ inspectServer: serverInspection({ store: url() }) })
      expectOnly(results, ['failure', 'postgres', fix])
      expect(JSON.stringify(results)).not.toContain('wrong@')
    })
  }

  test('a standby', async () => {
    const standby = await openPostgres({ replica: { of: postgres, name: 'standby' } })
    const store = standby.urlOf(database)
    const results = await check({ inspectServer: serverInspection({ store }) })
    await standby.close()
    expectOnly(results, ['failure', 'postgres', 'MAYFLY_STORE to the primary'])
  })

  test('a database with another encoding', async () => {
    await postgres.run("create database ascii encoding 'SQL_ASCII' template template0")
    const { config } = readConfig({ env: { MAYFLY_STORE: postgres.urlOf('ascii') }, file: {} })
    const { storeFault, inspectServer } = await openMailStoreIfExists(config)
    const results = await check({ storeFault, inspectServer, store: undefined })
    expectOnly(results, ['failure', 'postgres', "ENCODING 'UTF8'"])
  })
})

describe('Redis', () => {
  let redis: TestRedis
  beforeAll(async () => {
    redis = await openRedis({ password: 'right' })
  })
  afterAll(() => redis.close())

  for (const [name, before, url, status, fix, after] of [
    [
      'without a password',
      [],
      (given: string) => given.replace(':right@', ''),
      'failure',
      'MAYFLY_REDIS=redis://:PASSWORD@',
      [],
    ],
    [
      'with a wrong password',
      [],
      (given: string) => given.replace('right', 'wrong'),
      'failure',
      'Correct user name and password in MAYFLY_REDIS',
      [],
    ],
    [
      'that is a replica',
      ['REPLICAOF 127.0.0.1 1'],
      String,
      'failure',
      'REPLICAOF NO ONE',
      ['REPLICAOF NO ONE'],
    ],
    [
      'without the right to run scripts',
      ['ACL SETUSER default -eval'],
      String,
      'failure',
      'ACL SETUSER',
      ['ACL SETUSER default +eval'],
    ],
    [
      'that is full',
      ['CONFIG SET maxmemory 1'],
      String,
      'failure',
      'Raise maxmemory',
      ['CONFIG SET maxmemory 0'],
    ],
  ] as const) {
    test(name, async () => {
      for (const command of before) await redis.run(...command.split(' '))
      const results = await check(set({ redis: url(redis.url) }))
      for (const command of after) await redis.run(...command.split(' '))
      expectOnly(results, [status, 'redis', fix])
      expect(JSON.stringify(wrong(results))).not.toMatch(/\bright\b|:wrong/)
    })
  }

  test('that works', async () => expect(wrong(await check(set({ redis: redis.url })))).toEqual([]))
})

/** A server that answers each line by a rule. */
const lineServer = (greeting: string, answer: (line: string) => string) =>
  createTcpServer((socket: Socket) => {
    socket.on('error', () => {}).write(greeting)
    let rest = ''
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) socket.write(answer(line))
    })
  })

describe('the mail server for receipts', () => {
  const verify = { verifyMailOut: verifyMailer }
  const from = `shop@elsewhere.test`

  test('is down', async () => {
    const mailOut = { url: `smtp://127.0.0.1:${await freePort()}`, from }
    const [result] = await fixture().checkOnly('mail-out', { ...verify, ...set({ mailOut }) })
    expect(result).toMatchObject({
      status: 'failure',
      fix: expect.stringContaining('host and port in MAYFLY_MAIL_OUT'),
    })
  })

  test('rejects the password', async () => {
    const server = lineServer('220 out.test\r\n', (line) => {
      if (/^EHLO/i.test(line)) return '250-out.test\r\n250 AUTH PLAIN LOGIN\r\n'
      return /^AUTH/i.test(line) ? '535 5.7.8 Bad credentials\r\n' : '250 OK\r\n'
    })
    const [result] = await withServer(server, (port) => {
      const mailOut = { url: `smtp://ann:geheim@127.0.0.1:${port}`, from }
      return fixture().checkOnly('mail-out', { ...verify, ...set({ mailOut }) })
    })
    expect(result).toMatchObject({
      status: 'failure',
      fix: expect.stringContaining('Correct user name and password in MAYFLY_MAIL_OUT'),
    })
    expect(JSON.stringify(result)).not.toContain('geheim')
  })
})

describe('a Gmail account', () => {
  const email = parseAddress('ann@gmail.com')
  if (!email) throw new Error('a good address')
  const flags = { tls: false, dots: false, active: true, masked: false, deleteAfterFetch: false }
  const account = { email, host: '127.0.0.1', login: { password: 'x' }, ...flags }
  const imap = (refusal: string) =>
    lineServer('* OK IMAP4rev1 ready\r\n', (line) => {
      const [tag = '', command = ''] = line.split(' ')
      if (/^capability$/i.test(command)) return `* CAPABILITY IMAP4rev1\r\n${tag} OK done\r\n`
      return /^(login|authenticate)$/i.test(command)
        ? `${tag} ${refusal}\r\n`
        : `${tag} OK done\r\n`
    })
  for (const [name, refusal, fix] of [
    [
      'with a wrong password',
      'NO [AUTHENTICATIONFAILED] Invalid credentials',
      'Correct its password',
    ],
    [
      'without an app password',
      'NO [ALERT] Application-specific password required',
      'app password',
    ],
  ] as const) {
    test(name, async () => {
      const results = await withServer(imap(refusal), (port) =>
        check(set({ gmailAccounts: [{ ...account, port }] })),
      )
      expectOnly(results, ['failure', 'gmail', fix])
    })
  }

  test('at a server that is down', async () => {
    const results = await check(set({ gmailAccounts: [{ ...account, port: 1 }] }))
    expectOnly(results, ['failure', 'gmail', 'outgoing connections to 127.0.0.1 port 1'])
  })
})

describe('Stripe', () => {
  const checkStripe = (endpoints: object[], changed: object = {}, status = 200) => {
    const list = JSON.stringify(
      status === 200
        ? { object: 'list', data: endpoints, has_more: false }
        : { error: { type: 'invalid_request_error', message: 'Invalid API Key provided' } },
    )
    const api = createServer((_request, response) => response.writeHead(status).end(list))
    return withServer(api, (port) => {
      const secrets = { secretKey: 'sk_live_1', webhookSecrets: ['whsec_1'] }
      const stripe = { ...secrets, apiUrl: `http://127.0.0.1:${port}`, ...changed }
      return check(set({ payments: { provider: 'stripe', stripe } }))
    })
  }
  const ours = () => ({
    url: `${fixture().settings.http.baseUrl}/api/stripe/webhook`,
    status: 'enabled',
    enabled_events: EVENT_TYPES,
  })

  test('works', async () => expect(wrong(await checkStripe([ours()]))).toEqual([]))

  for (const [name, endpoint, changed, code, ...expected] of [
    [
      'does not send refunds',
      { enabled_events: ['checkout.session.completed'] },
      {},
      200,
      'warning',
      'payments',
      'Add these events',
    ],
    [
      'has a webhook secret of something else',
      {},
      { webhookSecrets: ['sk_live_1'] },
      200,
      'failure',
      'payments',
      'starts with whsec_',
    ],
    [
      'gets the publishable key',
      {},
      { secretKey: 'pk_live_1' },
      401,
      'failure',
      'payments',
      'MAYFLY_STRIPE_SECRET_KEY',
    ],
    ['has a test key', {}, { secretKey: 'sk_test_1' }, 200, 'warning', 'payments', 'the live key'],
    [
      'has its webhook at a former name',
      { url: 'https://old.test/api/stripe/webhook' },
      {},
      200,
      'failure',
      'payments',
      'in the Stripe dashboard',
    ],
  ] as const) {
    test(name, async () =>
      expectOnly(await checkStripe([{ ...ours(), ...endpoint }], changed, code), expected),
    )
  }
})

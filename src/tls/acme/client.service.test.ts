import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createSecureContext, type SecureContext } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPebble, type Pebble } from '../../../test/kit/programs/pebble.ts'
import { freePorts } from '../../../test/kit/programs/server-process.ts'
import { createHttpsServer } from '../https.ts'
import { challengeCertificate, generateKey, selfSigned, signingRequest } from '../x509.ts'
import { type AcmeClient, openAcmeClient, type Proof } from './client.ts'
import { openAcmeHttp } from './http.ts'

let pebble: Pebble
let servers: Server[] = []
const tokens = new Map<string, string>()
const alpn = new Map<string, SecureContext>()
const request = { now: new Date(), serial: Buffer.from('0102', 'hex') }

beforeAll(async () => {
  const [httpPort = 0, tlsPort = 0] = await freePorts(2)
  const plain = createServer((incoming, response) => {
    response.end(tokens.get(String(incoming.url?.split('/').at(-1))))
  })
  const own = selfSigned({ ...request, hostname: 'own.test' })
  const context = createSecureContext({ cert: own, key: own })
  const contexts = {
    contextFor: () => context,
    followDefault: (use: (pem: string) => void) => use(own),
    expiresAt: () => undefined,
    isChallengeable: () => true,
    findChallenge: async (name: string) => alpn.get(name),
  }
  const secure = createHttpsServer({}, contexts, (_, response) => response.end('hello'))
  servers = [plain, secure]
  await once(plain.listen(httpPort, '127.0.0.1'), 'listening')
  await once(secure.listen(tlsPort, '127.0.0.1'), 'listening')
  // A fifth of the nonces is refused.
  pebble = await openPebble({ httpPort, tlsPort, blocked: ['blocked.test'], badNonces: 20 })
})
afterAll(async () => {
  for (const server of servers) server.close()
  await pebble.close()
})

const proofs: Record<Proof['type'], Proof> = {
  'http-01': {
    type: 'http-01',
    async publish({ token, keyAuthorization }) {
      tokens.set(token, keyAuthorization)
      return async () => void tokens.delete(token)
    },
  },
  'tls-alpn-01': {
    type: 'tls-alpn-01',
    async publish({ name, keyAuthorization }) {
      const pem = challengeCertificate({ ...request, hostname: name }, keyAuthorization)
      alpn.set(name, createSecureContext({ cert: pem, key: pem }))
      return async () => void alpn.delete(name)
    },
  },
}

async function open(accountKey = generateKey()): Promise<AcmeClient> {
  const { ca, directory } = pebble
  const signal = new AbortController().signal
  const send = openAcmeHttp({ ca, userAgent: 'test', signal })
  return await openAcmeClient({ send, directory, accountKey, signal })
}

function order(name: string, account: string, type: Proof['type']) {
  const key = generateKey()
  return { name, account, key, csr: signingRequest(name, key), proof: proofs[type] }
}

describe('a certificate is obtained by', () => {
  for (const type of ['http-01', 'tls-alpn-01'] as const) {
    test(`${type}, although some nonces are refused`, async () => {
      const client = await open()
      const account = await client.register('ann@box.test')
      const wanted = order('mx.box.test', account, type)
      const chain = await client.obtain(wanted)
      const [leaf, issuer] = chain.split(/(?<=END CERTIFICATE-----\n)/).map((pem) => {
        return new X509Certificate(pem)
      })
      expect(leaf?.subjectAltName).toBe('DNS:mx.box.test')
      expect(leaf?.checkPrivateKey(wanted.key)).toBe(true)
      expect(issuer && leaf?.checkIssued(issuer)).toBe(true)
      expect(tokens.size + alpn.size).toBe(0)
    })
  }
})

test('the account of a key is found again', async () => {
  const key = generateKey()
  const first = await (await open(key)).register('ann@box.test')
  expect(await (await open(key)).register('ann@box.test')).toBe(first)
})

test('an account that the CA does not know is reported as such', async () => {
  const client = await open()
  const account = (await client.register('ann@box.test')).replace(/[^/]+$/, 'unknown')
  await expect(client.obtain(order('mx.box.test', account, 'http-01'))).rejects.toMatchObject({
    type: 'accountDoesNotExist',
  })
})

test('a name that the CA refuses is reported with its reason', async () => {
  const client = await open()
  const account = await client.register('ann@box.test')
  await expect(client.obtain(order('blocked.test', account, 'http-01'))).rejects.toMatchObject({
    type: 'rejectedIdentifier',
    message: expect.stringMatching(/^the order for blocked\.test: rejectedIdentifier: /),
  })
})

test('a challenge that the CA cannot verify is reported with its reason, and withdrawn', async () => {
  const client = await open()
  const account = await client.register('ann@box.test')
  let withdrawn = 0
  const publish = async () => async () => {
    withdrawn += 1
  }
  const wanted = {
    ...order('mx.box.test', account, 'http-01'),
    proof: { ...proofs['http-01'], publish },
  }
  await expect(client.obtain(wanted)).rejects.toMatchObject({
    type: 'unauthorized',
    message: expect.stringMatching(/^mx\.box\.test, http-01: unauthorized: /),
  })
  expect(withdrawn).toBe(1)
})

test('a name server that fails is reported as such', async () => {
  const client = await open()
  await pebble.dns('set-servfail', { host: 'broken.box.test' })
  const account = await client.register('ann@box.test')
  await expect(client.obtain(order('broken.box.test', account, 'http-01'))).rejects.toMatchObject({
    message: expect.stringMatching(/^broken\.box\.test, http-01: \w+: /),
  })
})

import { connect } from 'node:net'
import { parseMail } from '../../../../src/mime/parse.ts'
import { checkMail, createSession } from '../../http/api-client.ts'
import { openTestServer, type TestServer } from '../../http/http-server.ts'
import { keyRing } from '../../shop/keys.ts'
import { bytesOf } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const HOST = 'Host: box.test\r\n'
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n'
const JSON_TYPE = 'Content-Type: application/json\r\n'
const TOKEN = 'Authorization: Bearer $token\r\n'
const KEY = 'APIKey: $key\r\n'
const post = (path: string, headers: string, body: string) =>
  `POST ${path} HTTP/1.1\r\n${HOST}${headers}Content-Length: ${body.length}\r\n\r\n${body}`
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\n${HOST}${more}\r\n`
const PATHS =
  '/ /api/domains /api/check-mail?token=$token&q=he&from=sender.test /api/read-mail?token=$token&id=$id ' +
  '/api/raw-mail?token=$token&id=$id /emails?to=a@box.test /docs /plain /healthz /readyz /metrics /favicon.svg'

let server: TestServer
/** What a client knows. */
let secrets: Record<string, string> = {}

/** Pipelined requests cost as much as others, so there are only a few. */
const MAX_REQUESTS = 5
/** Until the first response, if there is one, and until the next one. */
const INCOMPLETE_MS = 300
const NEXT_MS = 20

/** Requests to the HTTP server, as bytes. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    post('/api/create-session', FORM, 'prefix=ann&domain_id=1'),
    post('/api/create-session', JSON_TYPE, '{"prefix":"bob","label":"x"}'),
    post('/api/update-session', TOKEN + FORM, 'label=x'),
    post('/api/extend-session', TOKEN + JSON_TYPE, '{}'),
    post('/api/delete-mail', TOKEN + FORM, 'id=1'),
    ...PATHS.split(' ').map((path) => get(path)),
    ...['/emails?limit=5', '/emails/$id', '/usage'].map((path) => get(path, KEY)),
    get('/emails', 'APIKey: mf_live_x\r\nIf-None-Match: "x"\r\n'),
    get('/api/events?token=$token', 'Last-Event-ID: 7\r\nAccept: text/event-stream\r\n'),
    `POST /api/webhook/stripe HTTP/1.1\r\n${HOST}Stripe-Signature: t=1,v1=0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `OPTIONS /api/domains HTTP/1.1\r\n${HOST}Origin: null\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
  ]),
  tokens: (
    '\r\n|\n|\r| |:|\0|\t|/|//|..|%2e%2e|%00|%|?|&|=|#|*|é|HTTP/1.1|HTTP/1.0|HEAD |PUT |TRACE |CONNECT |' +
    'Expect: 100-continue\r\n|Upgrade: h2c\r\n|Content-Length: 5\r\n|Transfer-Encoding: chunked\r\n|Content-Encoding: gzip\r\n|' +
    `Connection: close\r\n|Cookie: a=b\r\n|Range: bytes=0-\r\n|X-Forwarded-For: ::1\r\n|$token|$id|$key|${TOKEN}|${KEY}`
  ).split('|'),
  maxBytes: 4 * 1024,
  async open() {
    const env = { MAYFLY_RATE_LIMITS: 'off' }
    server = await openTestServer({ env, parse: async (raw) => parseMail(raw) })
    const { email, token } = await createSession(server.url)
    await server.mail(email)
    const [message] = await checkMail(server.url, token)
    const key = await keyRing(server.shop, server.now).issue({ requests: 1_000_000 })
    secrets = { token, id: String(message?.id), key: key.secret }
    return () => server.stop()
  },
  async run(input) {
    const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    // Not after its input: what a client that has closed its side asks for is not answered.
    const close = () => socket.destroy()
    let timer = setTimeout(close, INCOMPLETE_MS)
    let response = ''
    socket.setEncoding('latin1').on('data', (text) => {
      response += text
      clearTimeout(timer)
      timer = setTimeout(close, NEXT_MS)
    })
    socket.on('error', () => {})
    const text = input
      .toString('latin1')
      .split(' HTTP/', MAX_REQUESTS + 1)
      .join(' HTTP/')
    socket.write(
      text.replace(/\$(token|id|key)/g, (_, name) => secrets[name] ?? ''),
      'latin1',
    )
    await new Promise((resolve) => socket.once('close', resolve))
    clearTimeout(timer)
    const statuses = [...response.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status)
    check(response === '' || statuses.length > 0, `not HTTP: ${response.slice(0, 80)}`)
    check(!statuses.some((status) => status === '500'), `status ${statuses}`)
    const errors = server.logged.filter(({ level }) => level === 'error')
    server.logged.length = 0
    check(errors.length === 0, `logged ${JSON.stringify(errors[0])?.slice(0, 300)}`)
    return statuses.some((status) => status?.startsWith('2'))
  },
}

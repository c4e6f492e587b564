import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { certificateFor } from '../../../test/kit/http/https-proxy.ts'
import { openAcmeHttp, type SendAcme } from './http.ts'

let server: Server
let send: SendAcme
let url = ''
const end = new AbortController()

beforeAll(async () => {
  const pem = certificateFor('localhost')
  server = createServer({ cert: pem, key: pem }, ({ url: path }, response) => {
    if (path === '/huge') response.end('x'.repeat(300_000))
    else if (path === '/endless') response.write('{')
    else if (path === '/gone') response.destroy()
    else response.writeHead(302, { location: '/huge' }).end('moved')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `https://localhost:${(server.address() as AddressInfo).port}`
  send = openAcmeHttp({ ca: pem, userAgent: 'test', signal: end.signal })
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const get = (path: string, by = send) => by(path, { method: 'GET' })

test('a response of more than 256 KB is not read to its end', async () => {
  await expect(get(`${url}/huge`)).rejects.toThrow(
    /no response from localhost:\d+: more than 256 KB/,
  )
})

test('a redirect is returned, and not followed', async () => {
  expect(await get(`${url}/`)).toMatchObject({ status: 302, body: 'moved' })
})

test('a connection that is closed is no response', async () => {
  await expect(get(`${url}/gone`)).rejects.toThrow(/no response from localhost:\d+: /)
})

test('a certificate of another CA is refused', async () => {
  const strict = openAcmeHttp({ ca: undefined, userAgent: 'test', signal: end.signal })
  await expect(get(`${url}/`, strict)).rejects.toThrow(
    /no response from localhost:\d+: .*certificate/,
  )
})

test('a URL without TLS is refused', async () => {
  await expect(get('http://localhost/')).rejects.toThrow(/not https/)
})

test('a response without end is given up when the service stops', async () => {
  const response = get(`${url}/endless`)
  setImmediate(() => end.abort())
  await expect(response).rejects.toThrow(/no response from/)
})

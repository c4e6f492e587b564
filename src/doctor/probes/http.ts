import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { printable } from '../../base/text.ts'
import { type HttpResponse, recordsOf } from '../rules/result.ts'
import type { DnsProbe } from './dns.ts'

const MAX_BYTES = 256 * 1024
const TIMEOUT_MS = 8_000

interface HttpProbeOptions {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Its first part is the response. */
  isStream?: boolean
  signal: AbortSignal
}

/**
 * Requests that never reject: an error is part of the answer. Names are resolved by `dns`, so that all checks see the same records. Redirects are
 * not followed.
 */
export function openHttpProbe(dns: Pick<DnsProbe, 'a' | 'aaaa'>, { timeoutMs = TIMEOUT_MS } = {}) {
  const lookup: LookupFunction = (name, options, callback) => {
    void findAddresses(dns, name).then((found) => {
      const [first] = found
      if (!first) {
        callback(Object.assign(new Error(`${name} has no address`), { code: 'ENOTFOUND' }), '', 4)
      } else if (options.all) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
  return (
    url: string,
    { method = 'GET', headers = {}, isStream = false, signal }: HttpProbeOptions,
  ): Promise<HttpResponse> => {
    const done = Promise.withResolvers<HttpResponse>()
    const send = url.startsWith('https:') ? requestHttps : requestHttp
    const options = { method, headers, lookup, agent: false, signal, timeout: timeoutMs }
    const request = send(url, options)
    const fail = ({ message, code = '' }: NodeJS.ErrnoException) =>
      done.resolve({ error: message, cause: causeOf(code) })
    request.on('timeout', () => {
      fail(new Error('no response in time'))
      request.destroy()
    })
    request.on('error', fail)
    request.on('response', (response) => {
      let body = ''
      // Before the end: the socket is gone then.
      const life = certificateLife(response.socket)
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        if (body.length < MAX_BYTES) body += chunk
        if (!isStream) return
        complete()
        request.destroy()
      })
      response.on('error', fail)
      response.on('end', complete)
      function complete(): void {
        const { date, location, 'content-type': contentType } = response.headers
        done.resolve({
          status: response.statusCode ?? 0,
          body,
          date: date === undefined ? undefined : new Date(date),
          location: location && printable(location),
          contentType: contentType && printable(contentType),
          ...life,
        })
      }
    })
    request.end()
    return done.promise
  }
}

function certificateLife(socket: Socket) {
  const found = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
  return found && { validFrom: new Date(found.validFrom), validTo: new Date(found.validTo) }
}

function causeOf(code: string) {
  if (/CERT|^ERR_TLS|^ERR_SSL|UNABLE_TO_|SELF_SIGNED/.test(code)) return 'certificate'
  return code === 'ENOTFOUND' ? 'name' : 'network'
}

async function findAddresses(dns: Pick<DnsProbe, 'a' | 'aaaa'>, name: string) {
  if (name === 'localhost') return [{ address: '127.0.0.1', family: 4 }]
  const [four, six] = await Promise.all([dns.a(name), dns.aaaa(name)])
  return [...recordsOf(four), ...recordsOf(six)].map((address) => {
    return { address, family: isIP(address) }
  })
}

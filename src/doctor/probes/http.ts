import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { type DnsProbe, type HttpProbe, TlsError } from '../checks/context.ts'
import { recordsOf } from '../rules/result.ts'

const MAX_BYTES = 256 * 1024
const TIMEOUT_MS = 8_000

/** Requests whose names are resolved by `dns`, so that all checks see the same records. Redirects are not followed. */
export function openHttpProbe(dns: Pick<DnsProbe, 'a' | 'aaaa'>): HttpProbe {
  const lookup: LookupFunction = (name, options, callback) => {
    void findAddresses(dns, name).then((found) => {
      const [first] = found
      if (!first) {
        callback(Object.assign(new Error(`${name} has no address`), { code: 'ENOTFOUND' }), '', 4)
      } else if (options.all) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
  return (url, { headers = {}, signal }) => {
    const done = Promise.withResolvers<Awaited<ReturnType<HttpProbe>>>()
    const send = url.startsWith('https:') ? requestHttps : requestHttp
    const request = send(url, { headers, lookup, agent: false, signal, timeout: TIMEOUT_MS })
    request.on('timeout', () => request.destroy(new Error('no response in time')))
    request.on('error', (error: NodeJS.ErrnoException) => {
      done.reject(isTlsError(error) ? new TlsError(error.message, { cause: error }) : error)
    })
    request.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        if (body.length < MAX_BYTES) body += chunk
      })
      response.on('error', done.reject)
      response.on('end', () => {
        const { date } = response.headers
        const status = response.statusCode ?? 0
        done.resolve({ status, body, date: date === undefined ? undefined : new Date(date) })
      })
    })
    request.end()
    return done.promise
  }
}

async function findAddresses(dns: Pick<DnsProbe, 'a' | 'aaaa'>, name: string) {
  if (name === 'localhost') return [{ address: '127.0.0.1', family: 4 }]
  const [four, six] = await Promise.all([dns.a(name), dns.aaaa(name)])
  return [...recordsOf(four), ...recordsOf(six)].map((address) => {
    return { address, family: isIP(address) }
  })
}

function isTlsError({ code = '' }: NodeJS.ErrnoException): boolean {
  return /CERT|^ERR_TLS|^ERR_SSL|UNABLE_TO_|SELF_SIGNED/.test(code)
}

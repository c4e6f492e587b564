import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { needed } from './programs.ts'

const run = promisify(execFile)

export interface Requesting {
  url: string
  seconds: number
  connections: number
  headers?: Record<string, string>
  /** A file with one path on each line, asked for in turn; the url's own path is not used then. */
  paths?: string
}

export interface Load {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Asks as fast as the server answers, on kept connections. Any answer but 2xx and 3xx fails. */
export async function request(requesting: Requesting): Promise<Load> {
  const { url, seconds, connections, headers = {}, paths } = requesting
  const script = fileURLToPath(new URL('paths.lua', import.meta.url))
  const { stdout } = await run(needed('wrk', 'wrk'), [
    ...['--latency', '-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    ...(paths ? ['-s', script, url, '--', paths] : [url]),
  ])
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${url} gave errors:\n${stdout}`)
  return {
    perSecond: Number(found(stdout, /Requests\/sec:\s+([\d.]+)/)),
    p50Ms: milliseconds(found(stdout, /^ *50%\s+(\S+)/m)),
    p99Ms: milliseconds(found(stdout, /^ *99%\s+(\S+)/m)),
  }
}

function found(text: string, pattern: RegExp): string {
  const value = pattern.exec(text)?.[1]
  if (value === undefined) throw new Error(`wrk printed something unknown:\n${text}`)
  return value
}

const UNITS = { us: 0.001, ms: 1, s: 1000, m: 60_000 } as const

function milliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(text) ?? []
  if (!unit) throw new Error(`wrk gave the time ${text}`)
  return Number(number) * UNITS[unit as keyof typeof UNITS]
}

import { describe, expect, test } from 'vitest'
import type { Ask } from '../../cli/prompt.ts'
import type { SetupOptions } from './answers.ts'
import type { Machine } from './machine.ts'
import { setUp } from './setup.ts'
import { NEW } from './testing/new-machine.ts'

const OLD = { domains: ['a.test'], hostname: 'mx.a.test', baseUrl: 'https://a.test' }
const OLD_NAMES = [...NEW.namesInFile, 'MAYFLY_BASE_URL']
const DEFAULT_NAME = { isHostnameGiven: false, namesInFile: ['MAYFLY_DOMAINS'] }

/** Takes every proposal, and no question twice. */
function acceptor(): Ask {
  const asked = new Set<string>()
  return async (question, proposal) => {
    expect(asked).not.toContain(question)
    asked.add(question)
    return proposal
  }
}

/** What is written. On a terminal, proposals are accepted. */
async function written(machine: Partial<Machine>, options: SetupOptions, isTerminal: boolean) {
  let settings: Readonly<Record<string, string>> = {}
  const actions = {
    inspectMachine: async () => ({ ...NEW, ...machine }),
    editFile: (_: string, wanted: Readonly<Record<string, string>>) => ({
      changes: Object.entries(wanted).map(([name, value]) => {
        return { name, value, before: undefined, overridden: false }
      }),
      write() {
        settings = wanted
      },
    }),
    createAdminToken: () => '',
  }
  await setUp(actions, options, { print() {}, ask: isTerminal ? acceptor() : undefined })
  return settings
}

test('names from DNS and values of the file are printed without control characters', async () => {
  const lines: string[] = []
  const actions = {
    inspectMachine: async () => ({ ...NEW, reverseNames: ['mx.\u001b[2J.test'] }),
    editFile: () => ({
      changes: [
        { name: 'MAYFLY_DOMAINS', value: 'b.test', before: 'a\u009b2J', overridden: false },
      ],
      write() {},
    }),
    createAdminToken: () => '',
  }
  const print = (line: string) => void lines.push(line)
  await setUp(actions, { domain: ['b.test'] }, { print, ask: undefined })
  const text = lines.join('\n')
  expect(text).toContain('(mx.\\u001b[2J.test)')
  expect(text).toContain('MAYFLY_DOMAINS=b.test (was a\\u009b2J)')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  expect(text).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/)
})

const ADDED = { MAYFLY_DOMAINS: 'a.test,b.test' }

test.each<[string, Partial<Machine>, SetupOptions, object, 'terminal'?]>([
  [
    'a new machine',
    {},
    { domain: ['b.test'] },
    {
      MAYFLY_DOMAINS: 'b.test',
      MAYFLY_SMTP_HOSTNAME: 'mx.b.test',
      MAYFLY_BASE_URL: 'https://b.test',
      MAYFLY_TRUST_PROXY: '127.0.0.1',
      MAYFLY_SMTP_PORT: '25',
    },
  ],
  [
    'a new machine whose URL is set already',
    { baseUrl: 'https://b.test', namesInFile: OLD_NAMES },
    { domain: ['b.test'] },
    {
      MAYFLY_DOMAINS: 'b.test',
      MAYFLY_SMTP_HOSTNAME: 'mx.b.test',
      MAYFLY_TRUST_PROXY: '127.0.0.1',
      MAYFLY_SMTP_PORT: '25',
    },
  ],
  [
    'a new machine while its service runs with example domains',
    { isRunning: true },
    { domain: ['b.test'], url: 'http://b.test' },
    {
      MAYFLY_DOMAINS: 'b.test',
      MAYFLY_SMTP_HOSTNAME: 'mx.b.test',
      MAYFLY_BASE_URL: 'http://b.test',
      MAYFLY_SMTP_PORT: '25',
    },
  ],
  [
    'an installation whose domains were added by a command',
    { isRunning: true, isInUse: true, namesInFile: [], hostname: 'mx.a.test' },
    { domain: ['b.test'] },
    { MAYFLY_DOMAINS: 'b.test' },
  ],
  ['an installation', { ...OLD, namesInFile: OLD_NAMES }, { domain: ['b.test'] }, ADDED],
  [
    'an installation whose URL is given again',
    { ...OLD, namesInFile: OLD_NAMES },
    { url: OLD.baseUrl },
    { MAYFLY_TRUST_PROXY: '127.0.0.1' },
  ],
  [
    'an installation whose host name is set, but not public',
    { ...OLD, hostname: 'vps7', namesInFile: OLD_NAMES },
    { domain: ['b.test'] },
    ADDED,
  ],
  [
    'the same on a terminal, where the proposed host name is accepted',
    { ...OLD, hostname: 'vps7', namesInFile: OLD_NAMES },
    { domain: ['b.test'] },
    { ...ADDED, MAYFLY_SMTP_HOSTNAME: 'mx.a.test' },
    'terminal',
  ],
  [
    'an installation without a host name, on a terminal',
    { ...OLD, ...DEFAULT_NAME, baseUrl: '', hostname: 'vps7' },
    { domain: ['b.test'] },
    { ...ADDED, MAYFLY_SMTP_HOSTNAME: 'mx.a.test' },
    'terminal',
  ],
  [
    'an installation whose machine has a public name, on a terminal',
    { ...OLD, ...DEFAULT_NAME, baseUrl: '', hostname: 'vps7.provider.net' },
    { domain: ['b.test'] },
    ADDED,
    'terminal',
  ],
])('the settings of %s', async (_, machine, options, expected, where) => {
  expect(await written(machine, options, where === 'terminal')).toEqual(expected)
})

describe('with --acme', () => {
  const fresh = { domains: ['pond.example'], namesInFile: [], isHostnameGiven: false }
  const options = { domain: ['a.test'], acme: true }

  test('the service serves HTTPS itself, on the ports of the CA and without a proxy', async () => {
    const settings = await written(fresh, { ...options, email: 'ann@b.test' }, false)
    expect(settings).toMatchObject({
      MAYFLY_BASE_URL: 'https://a.test',
      MAYFLY_ACME: 'on',
      MAYFLY_ACME_EMAIL: 'ann@b.test',
      MAYFLY_HTTP_PORT: '80',
    })
    expect(settings).not.toHaveProperty('MAYFLY_TRUST_PROXY')
  })

  test('a port that is set is kept', async () => {
    const settings = await written({ ...fresh, isHttpPortGiven: true }, options, false)
    expect(settings).not.toHaveProperty('MAYFLY_HTTP_PORT')
  })

  test('a URL that no CA can look at is refused', async () => {
    const refused = written(fresh, { ...options, url: 'http://a.test' }, false)
    await expect(refused).rejects.toThrow(/--acme needs/)
  })
})

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { childIsolation } from '../sandbox/isolation.ts'
import { openParser, type Parser, type ParserOptions } from './parser.ts'
import { recordingLog } from './testing/recording-log.ts'

const MOODY = new URL('./testing/misbehaving-child.ts', import.meta.url)
const letter = Buffer.from('From: ann@a.test\r\nSubject: s\r\n\r\nstill here\r\n')
// Where the system offers no way, nothing keeps it from that.
const SIGNALLED = { user: 'EPERM', 'pid namespace': 'ESRCH', none: 'reached' }
const opened: Parser[] = []

const { log, lines } = recordingLog()

function open(options: Partial<ParserOptions> = {}): Parser {
  const parser = openParser({ log, ...options })
  opened.push(parser)
  return parser
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((parser) => parser.close()))
  lines.splice(0)
})

describe('a mail', () => {
  test('is read in a child as it would be here', async () => {
    const mail = await open().parse(letter)
    expect(mail).toMatchObject({ text: 'still here\n', from: [{ address: 'ann@a.test' }] })
    expect(lines).toEqual([])
  })

  test('may be one of many at once', async () => {
    const parser = open()
    const mails = await Promise.all(
      Array.from({ length: 50 }, (_, at) => parser.parse(Buffer.from(`X: y\r\n\r\n${at}`))),
    )
    expect(mails.map((mail) => Number(mail.text))).toEqual(mails.map((_, at) => at))
  })
})

describe('a mail that harms its reader', () => {
  const died = ['warn undefined', 'warn died']
  for (const [order, fault, told, limits] of [
    ['spin', /too long/, ['warn too slow'], { cpuMs: 300 }],
    ['die', /gave up/, died, {}],
    ['exit', /gave up/, died, {}],
    ['fill the heap', /gave up/, died, { cpuMs: 60_000, memoryMb: 4_000 }],
    ['fill buffers', /too much memory/, ['warn too large'], { cpuMs: 60_000, memoryMb: 400 }],
    ['throw', /no sense/, ['error failed'], {}],
  ] as const) {
    test(`(${order}) costs its own body and nobody else’s, and the log says why`, async () => {
      const parser = open({ script: MOODY, children: 1, limits })
      const [harmful, next] = await Promise.all([
        parser.parse(Buffer.from(`${order}: private words`)),
        parser.parse(letter),
      ])
      expect(harmful.text).toMatch(fault)
      expect(harmful.text).toContain('the raw mail can be downloaded')
      expect(next.text).toBe('still here\n')
      expect(lines.map(({ level, facts }) => `${level} ${facts['reason']}`)).toEqual(told)
      expect(JSON.stringify(lines)).not.toContain('private')
    })
  }

  test('and stands still is given up', async () => {
    const parser = open({ script: MOODY, children: 1, limits: { wallMs: 100 } })
    expect((await parser.parse(Buffer.from('stall'))).text).toMatch(/too long/)
    expect(lines.map(({ facts }) => facts)).toEqual([{ bytes: 5, reason: 'too slow' }])
  })
})

test('a child reaches no file, no network, no program, no code and no secret', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-'))
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const path = join(folder, 'written')
  try {
    const order = `reach: ${port} ${path}`
    const { headers } = await open({ script: MOODY }).parse(Buffer.from(order))
    expect(Object.fromEntries(headers.map(({ name, value }) => [name, value]))).toEqual({
      'read /etc/passwd': 'ERR_ACCESS_DENIED',
      'read the rest of the source': 'ERR_ACCESS_DENIED',
      write: 'ERR_ACCESS_DENIED',
      spawn: 'ERR_ACCESS_DENIED',
      worker: 'ERR_ACCESS_DENIED',
      eval: expect.stringContaining('EvalError'),
      environment: '',
      connect: 'ERR_ACCESS_DENIED',
      'signal the parent': SIGNALLED[childIsolation().kind],
    })
    expect(existsSync(path)).toBe(false)
  } finally {
    server.close()
    rmSync(folder, { recursive: true })
  }
})

test('a child starts where node_modules is a link to somewhere else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-'))
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  try {
    for (const part of ['src/mime', 'src/extract', 'src/sandbox', 'src/core', 'package.json']) {
      cpSync(here(`../../${part}`), join(folder, part), { recursive: true })
    }
    symlinkSync(here('../../node_modules'), join(folder, 'node_modules'))
    const program = `
      import { openParser } from './src/mime/parser.ts'
      const parser = openParser({ log: { warn: console.log, error: console.log } })
      console.log((await parser.parse(Buffer.from('X: y\\r\\n\\r\\nread'))).text)
      await parser.close()
    `
    const options = { cwd: folder, encoding: 'utf8' } as const
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], options)
    expect(said).toBe('read\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('the pool', () => {
  test('blames no mail for a child that cannot start, and tells on one line what it said', async () => {
    const parser = open({ script: new URL('./testing/missing.ts', import.meta.url) })
    const message = await parser.parse(letter).then(
      () => '',
      (fault: Error) => fault.message,
    )
    expect(message).toMatch(
      /^a parse child did not start \(1\): .*Cannot find module .*missing\.ts/,
    )
    expect(message.length).toBeLessThan(500)
  })

  test('does not wait for ever for a child to be ready', async () => {
    const script = new URL('./testing/silent-child.ts', import.meta.url)
    const parser = open({ script, children: 1, limits: { startMs: 100 } })
    const both = [parser.parse(letter), parser.parse(letter)]
    for (const parse of both) await expect(parse).rejects.toThrow('did not start (not within')
  })
})

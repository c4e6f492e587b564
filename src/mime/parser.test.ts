import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { recordingLog } from '../../test/kit/recording-log.ts'
import { childIsolation } from '../sandbox/isolation.ts'
import type { Sandbox, SandboxOptions } from '../sandbox/pool.ts'
import { openMailSandbox, openParser, type Parser } from './parser.ts'

const MISBEHAVING = new URL('./testing/misbehaving-child.ts', import.meta.url)
const letter = Buffer.from('From: ann@a.test\r\nSubject: s\r\n\r\nstill here\r\n')
const SIGNALLED = { user: 'EPERM', 'pid namespace': 'ESRCH', none: 'reached' }
const opened: Sandbox[] = []

const { log, entries } = recordingLog()

function open(options: Partial<SandboxOptions> = {}): Parser {
  const sandbox = openMailSandbox({ children: 1, ...options })
  opened.push(sandbox)
  return openParser({ log, sandbox })
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()))
  entries.splice(0)
})

describe('a mail', () => {
  test('is parsed in a child', async () => {
    const mail = await open().parse(letter)
    expect(mail).toMatchObject({ text: 'still here\n', from: [{ address: 'ann@a.test' }] })
    expect(entries).toEqual([])
  })

  test('is not confused with others parsed at the same time', async () => {
    const parser = open({ children: 2 })
    const mails = await Promise.all(
      Array.from({ length: 50 }, (_, at) => parser.parse(Buffer.from(`X: y\r\n\r\n${at}`))),
    )
    expect(mails.map((mail) => Number(mail.text))).toEqual(mails.map((_, at) => at))
  })
})

describe('a mail that breaks its parser', () => {
  const died = ['warn undefined', 'warn died']
  for (const [command, reason, logged, limits] of [
    ['spin', /too long/, ['warn too slow'], { cpuMs: 300 }],
    ['die', /crashed/, died, {}],
    ['exit', /crashed/, died, {}],
    ['fill the heap', /crashed/, died, { cpuMs: 60_000, memoryMb: 4_000 }],
    ['fill buffers', /too much memory/, ['warn too large'], { cpuMs: 60_000, memoryMb: 400 }],
    ['throw', /invalid/, ['error failed'], {}],
  ] as const) {
    test(`(${command}) loses its own content only, and is logged`, async () => {
      const parser = open({ script: MISBEHAVING, limits })
      const [harmful, next] = await Promise.all([
        parser.parse(Buffer.from(`${command}: private words`)),
        parser.parse(letter),
      ])
      expect(harmful.text).toMatch(reason)
      expect(harmful.text).toContain('the raw message can be downloaded')
      expect(next.text?.trim()).toBe('still here')
      expect(entries.map(({ level, facts }) => `${level} ${facts['reason']}`)).toEqual(logged)
      expect(JSON.stringify(entries)).not.toContain('private')
    })
  }

  test('and hangs is killed', async () => {
    const parser = open({ script: MISBEHAVING, limits: { wallMs: 100 } })
    expect((await parser.parse(Buffer.from('stall'))).text).toMatch(/too long/)
    expect(entries.map(({ facts }) => facts)).toEqual([{ bytes: 5, reason: 'too slow' }])
  })
})

test('a child has no access to files, network, processes, eval or the environment of the service', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-'))
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const path = join(folder, 'written')
  try {
    const command = `reach: ${port} ${path}`
    const { headers } = await open({ script: MISBEHAVING }).parse(Buffer.from(command))
    expect(Object.fromEntries(headers.map(({ name, value }) => [name, value]))).toEqual({
      'read /etc/passwd': 'ERR_ACCESS_DENIED',
      'read the rest of the source': 'ERR_ACCESS_DENIED',
      write: 'ERR_ACCESS_DENIED',
      spawn: 'ERR_ACCESS_DENIED',
      worker: 'ERR_ACCESS_DENIED',
      eval: expect.stringContaining('EvalError'),
      environment: 'MALLOC_ARENA_MAX,MALLOC_MMAP_THRESHOLD_',
      connect: 'ERR_ACCESS_DENIED',
      'signal the parent': SIGNALLED[childIsolation().kind],
    })
    expect(existsSync(path)).toBe(false)
  } finally {
    server.close()
    rmSync(folder, { recursive: true })
  }
})

test('a child starts if node_modules is a symbolic link', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-'))
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  try {
    for (const part of [
      'src/mime',
      'src/codes',
      'src/sender-auth',
      'src/sandbox',
      'src/base',
      'src/shared',
      'package.json',
    ]) {
      cpSync(here(`../../${part}`), join(folder, part), { recursive: true })
    }
    symlinkSync(here('../../node_modules'), join(folder, 'node_modules'))
    const program = `
      import { openMailSandbox, openParser } from './src/mime/parser.ts'
      const sandbox = openMailSandbox()
      const parser = openParser({ log: { warn: console.log, error: console.log }, sandbox })
      console.log((await parser.parse(Buffer.from('X: y\\r\\n\\r\\nread'))).text)
      await sandbox.close()
    `
    const options = { cwd: folder, encoding: 'utf8' } as const
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], options)
    expect(output).toBe('read\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('the pool', () => {
  test('rejects if a child cannot start, with its output on one line', async () => {
    const parser = open({ script: new URL('./testing/missing.ts', import.meta.url) })
    const message = await parser.parse(letter).then(
      () => '',
      (error: Error) => error.message,
    )
    expect(message).toMatch(/^a mail child did not start \(1\): .*Cannot find module .*missing\.ts/)
    expect(message.length).toBeLessThan(500)
  })

  test('limits the time a child takes to start', async () => {
    const script = new URL('./testing/silent-child.ts', import.meta.url)
    const parser = open({ script, limits: { startMs: 100 } })
    const both = [parser.parse(letter), parser.parse(letter)]
    for (const parse of both) await expect(parse).rejects.toThrow('did not start (timeout after')
  })
})

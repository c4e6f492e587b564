import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAIN, ROOT } from './kit/app/service-process.ts'
import { program } from './kit/programs/programs.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// `mayfly setup` on a terminal: a program of Python's that passes on what is typed.
const TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

let folder: ReturnType<typeof tempFolder>
let child: ChildProcessByStdio<Writable, Readable, null>
let output = ''

beforeEach(() => {
  folder = tempFolder()
  output = ''
  const options = ['--address', '203.0.113.7', '--no-acme']
  const command = [process.execPath, resolve(ROOT, MAIN), 'setup', ...options]
  child = spawn(program('python3'), ['-c', TERMINAL, ...command], {
    cwd: folder.path,
    // Nothing answers there.
    env: { PATH: process.env['PATH'], MAYFLY_DNS: '127.0.0.1:1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdout.on('data', (chunk) => (output += chunk))
})
afterEach(async () => {
  if (child.exitCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  folder.remove()
})

/** Types this as soon as the question is on the screen. */
async function answer(question: string, typed: string): Promise<void> {
  await waitUntil(() => output.includes(`${question}`))
  output = output.slice(output.indexOf(question) + question.length)
  child.stdin.write(typed)
}

const settings = () => join(folder.path, 'mayfly.config.json')

test('it asks again after a mistake, and writes after a yes', async () => {
  const ended = once(child, 'close')
  await answer('Mail domain: ', 'localhost\r')
  await waitUntil(() => output.includes('"localhost" is not a host name.'))
  await answer('Mail domain: ', 'mail.test\r')
  await answer('Host name of this machine [mx.mail.test]: ', '\r')
  await answer('Public URL [https://mail.test]: ', 'https://www.mail.test\r')
  await answer('Email for reports [postmaster@mail.test]: ', '\r')
  expect(existsSync(settings())).toBe(false)
  await answer('Write them? [yes]: ', '\r')
  expect(await ended).toEqual([0, null])
  expect(JSON.parse(readFileSync(settings(), 'utf8'))).toMatchObject({
    MAYFLY_DOMAINS: 'mail.test',
    MAYFLY_SMTP_HOSTNAME: 'mx.mail.test',
    MAYFLY_BASE_URL: 'https://www.mail.test',
  })
  expect(output).toContain('mail.test. 3600 IN MX 10 mx.mail.test.')
})

for (const [name, key] of [
  ['Ctrl+C', '\u0003'],
  ['Ctrl+D', '\u0004'],
] as const) {
  test(`${name} ends it, and nothing is written`, async () => {
    const ended = once(child, 'close')
    await answer('Mail domain: ', 'mail.test\r')
    await answer('Host name of this machine [mx.mail.test]: ', key)
    expect(await ended).toEqual([1, null])
    expect(stripVTControlCharacters(output).trim()).toBe('Nothing was written.')
    expect(existsSync(settings())).toBe(false)
  })
}

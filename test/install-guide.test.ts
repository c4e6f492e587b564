import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAIN, ROOT } from './kit/app/service-process.ts'
import { type Machine, machineProblem, openMachine } from './kit/programs/machine.ts'
import { program } from './kit/programs/programs.ts'
import { endWithParent } from './kit/programs/server-process.ts'
import { skipIfProblem } from './kit/skip.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// Follows "From a domain to a working MX in ten minutes" of docs/install.md on a machine of its own: a network namespace with the
// address of the document, and a name server that has only what setup printed. As on Ubuntu, resolv.conf names the stub of systemd-resolved, which
// does not answer here: doctor must query the servers behind it. Other programs find the host in /etc/hosts.

const ADDRESS = '203.0.113.7'
const GUIDE = /^## From a domain to a working MX in ten minutes\n(.*?)(?=^## |$(?![\s\S]))/ms
const guide = GUIDE.exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'))?.[1] ?? ''
// The guide says to replace its names, which are known as examples.
const blocks = [...guide.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, , block = '']) =>
  block.trim().replaceAll('example.org', 'guide.test'),
)
const [setup = '', zone = '', serve = '', doctor = '', mail = ''] = blocks

const folder = tempFolder()
const inFolder = (name: string) => join(folder.path, name)
let machine: Machine
let service: ChildProcess | undefined

/** Runs a command of the guide on that machine. */
function start(command: string): ChildProcessByStdio<null, Readable, Readable> {
  const env = {
    PATH: [folder.path, dirname(program('swaks')), process.env['PATH']].join(':'),
    MAYFLY_HTTP_THREADS: '1',
    MAYFLY_SMTP_THREADS: '1',
  }
  const [file = '', ...args] = endWithParent([
    ...machine.under,
    `--wd=${folder.path}`,
    'sh',
    '-ec',
    command,
  ])
  return spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function run(command: string) {
  const child = start(command)
  const ended = once(child, 'exit')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  await ended
  return { status: child.exitCode, stdout, stderr }
}

beforeAll(async () => {
  if (machineProblem !== undefined) return
  writeFileSync(
    inFolder('mayfly'),
    `#!/bin/sh\nexec ${process.execPath} ${resolve(ROOT, MAIN)} "$@"\n`,
  )
  chmodSync(inFolder('mayfly'), 0o755)
  writeFileSync(inFolder('resolv.conf'), 'nameserver 127.0.0.53\n')
  writeFileSync(inFolder('hosts'), `${ADDRESS} mx.guide.test\n`)
  machine = await openMachine({
    address: ADDRESS,
    prepare: [
      `mount --bind ${inFolder('resolv.conf')} /etc/resolv.conf`,
      `mount --bind ${inFolder('hosts')} /etc/hosts`,
      'mount -t tmpfs none /run',
      'mkdir -p /run/systemd/resolve',
      'echo nameserver 127.0.0.1 > /run/systemd/resolve/resolv.conf',
    ],
  })
})

afterAll(async () => {
  if (service && service.exitCode === null) {
    const ended = once(service, 'exit')
    service.kill('SIGKILL')
    await ended
  }
  await machine?.close()
  folder.remove()
})

/** The lines of the output that are records. */
const recordsOf = (output: string) => output.match(/^\S+\. 3600 IN .*$/gm) ?? []

test('the guide has its five steps', () => {
  expect(blocks).toHaveLength(5)
  expect(setup).toMatch(/^mayfly setup --domain box\.guide\.test /)
})

describe('followed on a machine', () => {
  skipIfProblem(machineProblem)

  test('doctor fails before there is anything, and names the first step', async () => {
    const { status, stdout } = await run(`${doctor} --json`)
    expect(status).toBe(1)
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({
        name: 'domains',
        status: 'failure',
        fix: expect.stringContaining('mayfly setup'),
      }),
    )
  })

  test('setup writes the settings and prints the records of the guide', async () => {
    const { status, stdout, stderr } = await run(setup)
    expect(status, stderr).toBe(0)
    expect(recordsOf(stdout)).toEqual(zone.split('\n'))
    const settings = JSON.parse(readFileSync(inFolder('mayfly.config.json'), 'utf8'))
    expect(settings).toEqual({
      MAYFLY_DOMAINS: 'box.guide.test',
      MAYFLY_SMTP_HOSTNAME: 'mx.guide.test',
      MAYFLY_BASE_URL: 'https://box.guide.test',
      MAYFLY_TRUST_PROXY: '127.0.0.1',
      MAYFLY_SMTP_PORT: '25',
      MAYFLY_ADMIN_TOKEN_FILE: inFolder('admin-token'),
    })
    expect(statSync(inFolder('admin-token')).mode & 0o777).toBe(0o600)
    await machine.publish(recordsOf(stdout))
  })

  test('a second run changes nothing, and keeps the token', async () => {
    const token = readFileSync(inFolder('admin-token'), 'utf8')
    const { stdout } = await run(setup)
    expect(stdout).toContain('mayfly.config.json is up to date.')
    expect(readFileSync(inFolder('admin-token'), 'utf8')).toBe(token)
  })

  test('the service starts, and doctor finds no failure', async () => {
    const started = start(`exec ${serve}`)
    service = started
    let output = ''
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk) => (output += chunk))
    await waitUntil(() => output.includes('"msg":"started"'))
    const { status, stdout, stderr } = await run(doctor)
    expect([status, stderr], stdout).toEqual([0, ''])
    expect(stdout).toMatch(
      /^ok +delivery box\.guide\.test +a message to postmaster@box\.guide\.test arrived/m,
    )
    expect(stdout).toMatch(/^ok +relay /m)
    expect(stdout).toMatch(/^warning +certificate /m)
    expect(stdout).toMatch(/^warning +ptr /m)
    expect(stdout).toMatch(/^0 failures, /m)
  })

  test('a domain is added by another run and a restart, which doctor asks for', async () => {
    const { stdout } = await run('mayfly setup --domain second.guide.test')
    expect(stdout).toMatch(/^Port 25 {4}this service$/m)
    expect(stdout).toMatch(/^ {2}1\. Restart the service: /m)
    expect(stdout).toMatch(/^_dmarc\.second\..*; rua=mailto:you@guide\.test"$/m)
    const settings = JSON.parse(readFileSync(inFolder('mayfly.config.json'), 'utf8'))
    expect(settings).toMatchObject({
      MAYFLY_DOMAINS: 'box.guide.test,second.guide.test',
      MAYFLY_SMTP_HOSTNAME: 'mx.guide.test',
      MAYFLY_BASE_URL: 'https://box.guide.test',
    })
    const options = '--json --listings --domain box.guide.test'
    const checks = JSON.parse((await run(`${doctor} ${options}`)).stdout)
    const failed = checks.filter(({ status }: { status: string }) => status === 'failure')
    expect(failed).toMatchObject([{ name: 'domains', fix: expect.stringContaining('restart') }])
    const subjects = checks.flatMap(({ subject = [] }) => subject)
    expect(new Set(subjects)).toEqual(new Set(['box.guide.test']))
    expect(checks).toContainEqual(
      expect.objectContaining({ name: 'listings', subject: 'box.guide.test' }),
    )
  })

  test('with invalid settings, doctor names them', async () => {
    const { status, stdout } = await run(`MAYFLY_HTTP_PORT=x ${doctor} --json`)
    expect(status).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'settings', seen: expect.stringContaining('MAYFLY_HTTP_PORT') },
    ])
  })

  test('a mail arrives', async () => {
    const { status, stdout, stderr } = await run(mail)
    expect([status, stderr], stdout).toEqual([0, ''])
    expect(stdout).toMatch(/^To: +postmaster@box\.guide\.test$/m)
    expect(stdout).toContain('This is a test mailing')
  })
})

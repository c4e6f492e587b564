import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildDebianPackage } from '../build/debian-package.ts'
import { ownArchitecture } from '../build/runtime.ts'
import { ROOT } from './kit/app/service-process.ts'
import { type Chroot, openChroot } from './kit/programs/chroot.ts'
import { type Machine, machineProblem, openMachine } from './kit/programs/machine.ts'
import { openPebble, type Pebble } from './kit/programs/pebble.ts'
import { program } from './kit/programs/programs.ts'
import { unitCommand } from './kit/programs/unit.ts'
import { skipIfProblem } from './kit/skip.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// "HTTPS on a new machine" of docs/install.md, from an empty Debian to a mail, in order and timed: a chroot on a machine of its own, where
// ports 25, 80 and 443 are free. Its CA is Pebble, which finds the names in the records that setup prints. There is no systemd: the
// command line of the unit is run as its user, with its capability.

const VERSION = '1.2.3'
const SECTION = /^### HTTPS on a new machine\n.*?^```sh\n(.*?)^```$/ms
const documented = SECTION.exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'))?.[1] ?? ''
// The names of the document are known as examples.
const [install = '', setup = '', start = '', doctor = ''] = documented
  .replaceAll('example.org', 'new.test')
  .replace('VERSION_amd64', `${VERSION}_${ownArchitecture}`)
  .trim()
  .split('\n')
const [PAGE, MX] = ['https://box.new.test', 'mx.new.test']

const folder = tempFolder(DISK)
const inFolder = (name: string) => join(folder.path, name)
let debian: Chroot
let machine: Machine
let ca: Pebble
let service: ChildProcess | undefined
let log = ''

const inDebian = (path: string) => join(debian.path, path)
/** As root, in its home directory. */
const run = (command: string) =>
  debian.run(['env', '-C', '/root', 'sh', '-ec', command], machine.under)

const steps: string[] = []
async function timed<T>(step: string, work: () => T | Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await work()
  steps.push(`${((performance.now() - start) / 1000).toFixed(1).padStart(6)} s  ${step}`)
  return result
}

/** Runs another client on the same machine. It trusts the CA. */
async function runClient(...command: string[]): Promise<string> {
  const [file = '', ...args] = [...machine.under, ...command]
  const running = promisify(execFile)(file, args)
  running.child.stdin?.end()
  return (await running).stdout
}
const curl = (...args: string[]) =>
  runClient(program('curl'), '-sS', '--fail', '--cacert', inFolder('root.pem'), ...args)
const succeeds = (output: Promise<string>) =>
  output.then(
    () => true,
    () => false,
  )

beforeAll(async () => {
  if (machineProblem !== undefined) return
  debian = openChroot()
  const file = buildDebianPackage(folder.path, ownArchitecture, VERSION)
  copyFileSync(file, inDebian(`root/mayfly_${VERSION}_${ownArchitecture}.deb`))
  for (const path of [inFolder('resolv.conf'), inDebian('etc/resolv.conf')])
    writeFileSync(path, 'nameserver 127.0.0.1\n')
  writeFileSync(inDebian('etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n')
  machine = await openMachine({
    address: '203.0.113.7',
    prepare: [`mount --bind ${inFolder('resolv.conf')} /etc/resolv.conf`],
  })
  const elsewhere = { under: machine.under, nameServer: '127.0.0.1:53' }
  ca = await openPebble({ httpPort: 80, tlsPort: 443, elsewhere })
  const root = await ca.root()
  for (const path of [inFolder('root.pem'), inDebian('etc/root.pem')]) writeFileSync(path, root)
}, 900_000)

afterAll(async () => {
  if (service && service.exitCode === null) {
    const ended = once(service, 'exit')
    service.kill('SIGKILL')
    await ended
  }
  await ca?.close()
  await machine?.close()
  debian?.remove()
  folder.remove()
  if (steps.length > 0) process.stdout.write(`${steps.join('\n')}\n`)
})

skipIfProblem(machineProblem)

test('the package is installed', async () => {
  const { status, stderr, stdout } = await timed(install, () => run(install))
  expect(status, stderr).toBe(0)
  expect(stdout).toContain(start)
})

test('setup writes the settings, and prints the records and the next step', async () => {
  const { status, stderr, stdout } = await timed('mayfly setup --acme …', () => run(setup))
  expect(status, stderr).toBe(0)
  expect(stdout).toContain(start)
  const file = inDebian('etc/mayfly/mayfly.env')
  const settings = readFileSync(file, 'utf8')
  expect(settings).toMatch(/^MAYFLY_ACME=on$/m)
  expect(settings).not.toMatch(/^MAYFLY_TRUST_PROXY/m)
  await machine.publish(stdout.match(/^\S+\. 3600 IN .*$/gm) ?? [])
  // "Another CA" of docs/tls.md.
  copyFileSync(ca.caFile, inDebian('etc/mayfly/ca.pem'))
  appendFileSync(
    file,
    `MAYFLY_ACME_DIRECTORY=${ca.directory}\nMAYFLY_ACME_CA_FILE=/etc/mayfly/ca.pem\n`,
  )
})

test('the page is served over HTTPS, and SMTP has STARTTLS, with certificates of the CA', async () => {
  expect(start).toBe('systemctl enable --now mayfly mayfly-backup.timer')
  const [file = '', ...args] = [
    ...machine.under,
    ...debian.under,
    ...unitCommand(debian.path, 'mayfly.service'),
  ]
  const started = spawn(file, args, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  service = started
  for (const stream of [started.stdout, started.stderr])
    stream.on('data', (chunk) => {
      log += chunk
    })
  const openssl = ['s_client', '-connect', `${MX}:25`, '-starttls', 'smtp', '-brief']
  const verify = ['-verify_hostname', MX, '-verify_return_error', '-CAfile', inFolder('root.pem')]
  const untilServed = (client: () => Promise<string>) =>
    waitUntil(() => {
      if (started.exitCode !== null) throw new Error(log)
      return succeeds(client())
    })
  await timed('start of the unit, until the page is served over HTTPS', async () => {
    await untilServed(() => curl(PAGE))
  })
  await timed('then until STARTTLS has a certificate of the CA', async () => {
    await untilServed(() => runClient(program('openssl'), ...openssl, ...verify))
  })
  expect(await curl(PAGE)).toContain('<!doctype html>')
  const plain = PAGE.replace('https', 'http')
  const found = await curl('-o', '/dev/null', '-w', '%{http_code} %{redirect_url}', plain)
  expect(found).toBe(`308 ${PAGE}/`)
  expect(String(statSync(`/proc/${started.pid}`).uid)).toBe(run('id -u mayfly').stdout.trim())
})
test('a mail that is sent with a verified STARTTLS is read over HTTPS', async () => {
  await timed('mailbox, mail over STARTTLS, and its code over HTTPS', async () => {
    const { email, token } = JSON.parse(await curl('-X', 'POST', `${PAGE}/api/create-session`))
    writeFileSync(inFolder('mail'), 'Subject: Hello\r\n\r\nYour code is 493 027.\r\n')
    const envelope = ['--mail-from', 'bob@sender.test', '--mail-rcpt', email]
    // Also the name is verified.
    await curl(`smtp://${MX}`, '--ssl-reqd', ...envelope, '-T', inFolder('mail'))
    await waitUntil(async () => {
      const list = await curl(`${PAGE}/api/check-mail?token=${token}`)
      return JSON.parse(list).messages[0]?.code === '493027'
    })
  })
})

test('doctor finds what others need to reach the page and the mail server', async () => {
  // Node.js has CAs of its own.
  const trusting = `NODE_EXTRA_CA_CERTS=/etc/root.pem ${doctor}`
  const { status, stdout, stderr } = await timed(doctor, () => run(trusting))
  expect([status, stderr], stdout).toEqual([0, ''])
  for (const name of ['base-url', 'acme', 'certificate', 'smtp-public'])
    expect(stdout).toMatch(new RegExp(`^ok +${name} `, 'm'))
})

import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildDebianPackage } from '../build/debian-package.ts'
import { ownArchitecture } from '../build/runtime.ts'
import { readFirstMail } from './kit/app/first-mail.ts'
import {
  freeServicePorts,
  ROOT,
  type ServiceProcess,
  spawnService,
} from './kit/app/service-process.ts'
import { checkMail } from './kit/http/api-client.ts'
import { mountProblem } from './kit/programs/capabilities.ts'
import { type Chroot, openChroot } from './kit/programs/chroot.ts'
import { program } from './kit/programs/programs.ts'
import { unitCommand } from './kit/programs/unit.ts'
import { skipIfProblem } from './kit/skip.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

// The Debian package from installation to purge, in order, in a Debian without the clone.

const [OLD, NEW] = ['0.2.0', '0.2.1']
const folder = tempFolder(DISK)
const MANY = readFileSync(join(ROOT, 'deploy/mayfly.service.d/many.conf'), 'utf8')
const OPERATIONS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
let debian: Chroot
let ports: { http: number; smtp: number }

const inDebian = (path: string) => join(debian.path, path)
const dpkg = (...args: string[]) => debian.run(['dpkg', '--force-confold', ...args])

beforeAll(async () => {
  if (mountProblem !== undefined) return
  debian = openChroot()
  ports = await freeServicePorts()
  // As a builder may have it: no file of the package may become unreadable for the service.
  const umask = process.umask(0o077)
  for (const version of [OLD, NEW]) {
    const file = buildDebianPackage(folder.path, ownArchitecture, version)
    copyFileSync(file, inDebian(`tmp/mayfly_${version}.deb`))
  }
  process.umask(umask)
}, 900_000)
afterAll(() => {
  debian?.remove()
  folder.remove()
})

async function startUnit(): Promise<ServiceProcess> {
  const command = unitCommand(debian.path, 'mayfly.service')
  expect(command.at(-1)).toBe('serve')
  return await spawnService({
    folder: '/var/lib/mayfly',
    ports,
    under: [...debian.under],
    command,
  })
}

async function withService<T>(use: (service: ServiceProcess) => Promise<T>): Promise<T> {
  const service = await startUnit()
  const result = await use(service)
  expect(await service.kill('SIGTERM'), service.output()).toBe(0)
  return result
}

const user = () => debian.run(['id', '-u', 'mayfly']).stdout.trim()
const group = () => debian.run(['id', '-g', 'mayfly']).stdout.trim()
let token = ''

skipIfProblem(mountProblem)

test('it installs, and creates its user and directory', () => {
  const installed = dpkg('--install', `/tmp/mayfly_${OLD}.deb`)
  expect(installed.status, installed.stderr).toBe(0)
  expect(installed.stdout).toMatch(/^Set up your domain: mayfly setup; then start Mayfly, and /m)
  const data = statSync(inDebian('var/lib/mayfly'))
  expect([data.mode & 0o777, String(data.uid)]).toStrictEqual([0o700, user()])
  expect(statSync(inDebian('etc/mayfly/mayfly.env')).mode & 0o777).toBe(0o640)
  const settings = `MAYFLY_DOMAINS=box.test\nMAYFLY_HTTP_PORT=${ports.http}\nMAYFLY_SMTP_PORT=${ports.smtp}\n`
  appendFileSync(inDebian('etc/mayfly/mayfly.env'), settings)
})

test('it has the documents that the program, its settings and its unit refer to', () => {
  const files = globSync(['src/**/*.ts', 'deploy/*'], { cwd: ROOT })
  const sources = files.filter((path) => statSync(join(ROOT, path)).isFile())
  const named = sources.flatMap((path) =>
    readFileSync(join(ROOT, path), 'utf8').match(/(?<=\bdocs\/)[\w-]+\.md/g),
  )
  expect(named).toContain('tls.md')
  for (const name of new Set(named.filter((one) => one !== null)))
    expect(existsSync(inDebian(`usr/share/doc/mayfly/${name}`)), name).toBe(true)
})

test('its files can be read by everyone, except the settings', () => {
  const { stdout } = debian.run(['dpkg-deb', '--contents', `/tmp/mayfly_${OLD}.deb`])
  const closed = stdout.split('\n').filter((line) => /^[d-]/.test(line) && !/^.{7}r/.test(line))
  expect(closed.length, closed.join('\n')).toBe(1)
  expect(closed[0] ?? '').toMatch(/ \.\/etc\/mayfly\/mayfly\.env$/)
})

test('setup adds a domain to the settings of the service, which only root may change', () => {
  const args = [
    '--domain',
    'other.test',
    '--hostname',
    'mx.other.test',
    '--url',
    'https://other.test',
  ]
  const { status, stderr } = debian.run(['mayfly', 'setup', ...args])
  expect(status, stderr).toBe(0)
  const settings = readFileSync(inDebian('etc/mayfly/mayfly.env'), 'utf8')
  expect(settings).toMatch(/^MAYFLY_DOMAINS=box\.test,other\.test$/m)
  expect(settings).toMatch(/^MAYFLY_ADMIN_TOKEN_FILE=\/etc\/mayfly\/admin-token$/m)
  for (const name of ['mayfly.env', 'admin-token']) {
    const { mode, uid, gid } = statSync(inDebian(`etc/mayfly/${name}`))
    expect([mode & 0o777, uid, String(gid)], name).toStrictEqual([0o640, 0, group()])
  }
})

test('the service of the unit receives a mail and shows it on the page', async () => {
  const mailbox = await withService(readFirstMail)
  token = mailbox.token
})

test('the command has the settings and the user of the service', async () => {
  // Which the user of the service may not read.
  const inRoot = (...args: string[]) => debian.run(['env', '-C', '/root', 'mayfly', ...args])
  expect(inRoot('config').stdout).toMatch(/^ *MAYFLY_DOMAINS\s.*box\.test/m)
  const { stdout, stderr } = inRoot('domain', 'list', '--json')
  expect(JSON.parse(stdout), stderr).toContainEqual(expect.objectContaining({ name: 'box.test' }))
  for (const name of ['mail.db', 'shop.db']) {
    expect(String(statSync(inDebian(`var/lib/mayfly/${name}`)).uid), name).toBe(user())
  }
})

test('a user who cannot read the settings is refused instead of using other data', () => {
  const nobody = ['setpriv', '--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups']
  const run = (...args: string[]) => debian.run([...nobody, 'env', '-C', '/tmp', 'mayfly', ...args])
  const { status, stdout, stderr } = run('key', 'issue', '--plan', 'starter')
  expect([status, stdout]).toStrictEqual([1, ''])
  expect(stderr).toMatch(/^mayfly: \S+\/mayfly\.env cannot be read .* run the command as root\.$/m)
  expect(existsSync(inDebian('tmp/data'))).toBeFalsy()
  for (const args of [['--version'], ['--help'], ['key', 'issue', '--help']]) {
    expect(run(...args).status, args.join(' ')).toBe(0)
  }
})

test('the command and the service use the same store, also several nodes', () => {
  const files = ['store', 'redis'].map((name) => inDebian(`etc/mayfly/${name}`))
  // As an earlier version of the document had them.
  for (const path of files) writeFileSync(path, '', { mode: 0o600 })
  const commands = /^#(?: {3}.*\n#)+/m.exec(MANY)?.[0].split('\n') ?? []
  const script = commands.map((line) => line.slice(1)).join('\n')
  expect(debian.run(['sh', '-ec', script])).toStrictEqual({ status: 0, stdout: '', stderr: '' })
  for (const path of files) {
    const { mode, uid, gid } = statSync(path)
    expect([mode & 0o777, uid, String(gid)], path).toStrictEqual([0o640, 0, group()])
  }
  const file = inDebian('etc/mayfly/mayfly.env')
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, before.replaceAll(/^#(?=MAYFLY_(STORE|REDIS)_FILE=)/gm, ''))
  const { stdout, stderr } = debian.run(['mayfly', 'config', '--json'])
  writeFileSync(file, before)
  const settings = JSON.parse(stdout || stderr)
  for (const [name, value] of [
    ['MAYFLY_STORE', 'postgres://mayfly:…@db.internal/mayfly?sslmode=verify-full'],
    ['MAYFLY_REDIS', 'rediss://:…@redis.internal:6379'],
  ]) {
    expect(settings).toContainEqual(expect.objectContaining({ name, value }))
  }
})

test('the unit of the daily backup writes it where the documentation says', () => {
  const { mode, uid } = statSync(inDebian('var/backups/mayfly'))
  expect([mode & 0o777, String(uid)]).toStrictEqual([0o700, user()])
  const command = unitCommand(debian.path, 'mayfly-backup.service')
  const { status, stderr, stdout } = debian.run(command)
  expect(status, stderr).toBe(0)
  expect(stdout).toMatch(/^Wrote \/var\/backups\/mayfly\/mayfly-[-.\dTZ]+\.db: .*; verified\.$/m)
  expect(OPERATIONS).toContain('systemctl enable --now mayfly-backup.timer')
  expect(existsSync(inDebian('lib/systemd/system/mayfly-backup.timer'))).toBe(true)
})

test('a restore drill works beside the service as the documentation says', async () => {
  const [, commands = ''] = /### Restore drill\n.*?```sh\n(.*?)```/s.exec(OPERATIONS) ?? []
  const drill = ['env', '-C', '/root', 'sh', '-ec', commands]
  const { status, stdout, stderr } = await withService(async () => debian.run(drill))
  expect([status, stderr]).toStrictEqual([0, ''])
  expect(stdout).toMatch(/^Restored \/var\/backups\/mayfly\/mayfly-\S+\.db: /)
})

test('an upgrade keeps data and settings, also if the unit is masked', async () => {
  const log = recordSystemctl('daemon-reload|try-restart')
  const upgraded = dpkg('--install', `/tmp/mayfly_${NEW}.deb`)
  expect(upgraded.status, upgraded.stderr).toBe(0)
  expect(readFileSync(log, 'utf8')).toMatch(/^try-restart mayfly\.service$/m)
  expect(upgraded.stderr).toMatch(/^mayfly: the service was not restarted\.$/m)
  expect(readFileSync(inDebian('etc/mayfly/mayfly.env'), 'utf8')).toMatch(
    /^MAYFLY_DOMAINS=box\.test,other\.test$/m,
  )
  const messages = await withService(({ url }) => checkMail(url, token))
  expect(messages.length).toBe(1)
})

test('it has a manual page and a completion', () => {
  const page = gunzipSync(readFileSync(inDebian('usr/share/man/man1/mayfly.1.gz')))
  const mandoc = (...args: string[]) =>
    spawnSync(program('mandoc'), args, { input: page, encoding: 'utf8' })
  const lint = mandoc('-T', 'lint', '-W', 'style')
  expect([lint.status, lint.stdout]).toStrictEqual([0, ''])
  // Bold letters are printed twice.
  const text = mandoc('-T', 'ascii').stdout.replaceAll('\b', '<')
  expect(text.replaceAll(/.</g, '')).toMatch(/^ +mayfly domain add name$/m)
  const script = `. /usr/share/bash-completion/completions/mayfly
    COMP_WORDS=(mayfly domain ''); COMP_CWORD=2; _mayfly; echo "\${COMPREPLY[*]}"`
  const { stdout } = debian.run(['bash', '-c', script])
  expect(stdout).toBe('list add remove activate deactivate --help\n')
})

test('removal stops the service and keeps data and settings; purge removes them and the user', () => {
  const log = recordSystemctl('daemon-reload|stop|disable')
  expect(dpkg('--remove', 'mayfly').status).toBe(0)
  expect(readFileSync(log, 'utf8')).toMatch(
    /^stop mayfly\.service mayfly-backup\.timer\ndisable mayfly\.service mayfly-backup\.timer$/m,
  )
  expect(existsSync(inDebian('usr/lib/mayfly'))).toBeFalsy()
  expect(existsSync(inDebian('var/lib/mayfly/mail.db'))).toBeTruthy()
  expect(existsSync(inDebian('etc/mayfly/mayfly.env'))).toBeTruthy()
  expect(dpkg('--purge', 'mayfly').status).toBe(0)
  expect(existsSync(inDebian('var/lib/mayfly'))).toBeFalsy()
  expect(existsSync(inDebian('etc/mayfly'))).toBeFalsy()
  expect(user()).toBe('')
})

test('it is not installed over the unit of a clone, and does not delete a user that it did not create', () => {
  debian.run(['useradd', '--system', 'mayfly'])
  const unit = inDebian('etc/systemd/system/mayfly.service')
  writeFileSync(unit, '')
  const refused = dpkg('--install', `/tmp/mayfly_${NEW}.deb`)
  expect(refused.status).not.toBe(0)
  expect(refused.stderr).toMatch(/^mayfly: stop and remove \S+\/mayfly\.service first\./m)
  rmSync(unit)
  expect(dpkg('--install', `/tmp/mayfly_${NEW}.deb`).status).toBe(0)
  expect(dpkg('--purge', 'mayfly').status).toBe(0)
  expect(user()).not.toBe('')
  debian.run(['userdel', 'mayfly'])
})

test('a clone that takes the place of the package is not stopped, and keeps its data at a purge', () => {
  expect(dpkg('--install', `/tmp/mayfly_${NEW}.deb`).status).toBe(0)
  const unit = inDebian('etc/systemd/system/mayfly.service')
  copyFileSync(join(ROOT, 'deploy/mayfly.service'), unit)
  const log = recordSystemctl('none')
  writeFileSync(log, '')
  expect(dpkg('--remove', 'mayfly').status).toBe(0)
  expect(readFileSync(log, 'utf8')).toBe('daemon-reload\n')
  writeFileSync(inDebian('var/lib/mayfly/mail.db'), '')
  expect(dpkg('--install', `/tmp/mayfly_${NEW}.deb`).status).not.toBe(0)
  const purged = dpkg('--purge', 'mayfly')
  expect(purged.status, purged.stderr).toBe(0)
  expect(purged.stderr).toMatch(/^mayfly: data, secrets and user are kept /m)
  expect(existsSync(inDebian('var/lib/mayfly/mail.db'))).toBeTruthy()
  expect(user()).not.toBe('')
})

/** There is no systemd in the chroot: this records what it would be told. Some commands fail, as for a masked unit. */
function recordSystemctl(failing: string): string {
  mkdirSync(inDebian('run/systemd/system'), { recursive: true })
  mkdirSync(inDebian('etc/systemd/system'), { recursive: true })
  const script = `#!/bin/sh\necho "$@" >> /tmp/systemctl.log\ncase $1 in ${failing}) exit 1 ;; esac\n`
  writeFileSync(inDebian('usr/bin/systemctl'), script, { mode: 0o755 })
  return inDebian('tmp/systemctl.log')
}

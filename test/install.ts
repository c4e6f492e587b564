import { execFileSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** What the tests run beyond npm's packages: command, Debian's package, and what for. */
const NEEDED = [
  ['curl', 'curl', 'pastes the line that a first start prints'],
  ['swaks', 'swaks', 'a stranger that sends mail'],
  ['smtp-source', 'postfix', 'a stranger that sends much mail'],
  ['postfix', 'postfix', 'what intake is compared with; never started as a service'],
  ['strace', 'strace', 'proves that a mail is on disk before its 250'],
  ['openssl', 'openssl', 'a second opinion on certificates'],
  ['python3', 'python3', 'runs the sample that the key page gives'],
  ['chromium-headless-shell', 'chromium-headless-shell', 'opens the pages as a reader does'],
  ['pg_ctlcluster', 'postgresql', 'the second store; never started as a service'],
  ['redis-server', 'redis-server', 'carries news between nodes; never started as a service'],
  ['pgbouncer', 'pgbouncer', 'stands before PostgreSQL; never started as a service'],
  ['haproxy', 'haproxy', 'stands before the nodes; never started as a service'],
  ['dovecot', 'dovecot-imapd', 'a mail account to fetch from; never started as a service'],
] as const

/** Packages that would start something at the next boot, and its name. */
const SERVICES = [
  ['postfix', 'postfix'],
  ['dovecot-imapd', 'dovecot'],
  ['redis-server', 'redis-server'],
  ['pgbouncer', 'pgbouncer'],
  ['haproxy', 'haproxy'],
] as const

const QUIET = ['-qq', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0']

const missing = NEEDED.filter(([command]) => !isThere(command))
if (missing.length > 0) {
  const packages = [...new Set(missing.map(([, name]) => name))]
  if (isDebian() && process.getuid?.() === 0) install(packages)
  else tell()
}

function isThere(command: string): boolean {
  // Debian keeps servers in folders that are not on everybody's PATH.
  const { PATH = '' } = process.env
  const folders = [...PATH.split(':'), '/usr/local/sbin', '/usr/sbin']
  return folders.some((folder) => isProgram(join(folder, command)))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isDebian(): boolean {
  return (
    existsSync('/etc/os-release') && /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
  )
}

function tell(): void {
  const lines = missing.map(
    ([command, name, why]) => `  ${command.padEnd(12)} ${why} (Debian: ${name})`,
  )
  const packages = [...new Set(missing.map(([, name]) => name))].join(' ')
  console.error(
    ['The tests need programs that are not here:', ...lines, '', ...howTo(packages)].join('\n'),
  )
  process.exitCode = 1
}

function howTo(packages: string): string[] {
  return isDebian()
    ? [`Install them as root, then run the tests again: apt-get install ${packages}`]
    : ['Install them with the package manager of this system, then run the tests again.']
}

/** By apt, asking nothing and starting no daemon, now or at the next boot. */
function install(packages: string[]): void {
  console.log(`Installing what the tests need: ${packages.join(' ')}`)
  // Ctrl-C then ends apt, and we still put the policy back.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  const putBack = forbidDaemons()
  try {
    if (packages.includes('postfix')) {
      apply(
        'debconf-set-selections',
        [],
        'postfix postfix/main_mailer_type select No configuration',
      )
    }
    apply('apt-get', [...QUIET, 'update'])
    apply('apt-get', [...QUIET, 'install', '--yes', '--no-install-recommends', ...packages])
    for (const [name, service] of SERVICES) {
      if (packages.includes(name)) apply('update-rc.d', [service, 'disable'])
    }
  } finally {
    putBack()
  }
  const still = NEEDED.filter(([command]) => !isThere(command)).map(([command]) => command)
  if (still.length > 0) throw new Error(`apt installed everything, but ${still} is not there`)
}

function apply(command: string, args: string[], input = ''): void {
  execFileSync(command, args, {
    input,
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

/** Package scripts ask this file before they start a service; 101 means no. Returns how to put the old one back. */
function forbidDaemons(): () => void {
  const policy = '/usr/sbin/policy-rc.d'
  const kept = `${policy}.mayfly`
  // A run that was killed has left the old one under this name already.
  if (existsSync(policy) && !existsSync(kept)) renameSync(policy, kept)
  writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return () => (existsSync(kept) ? renameSync(kept, policy) : rmSync(policy))
}

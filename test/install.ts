import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import {
  CAMPAIGN_PROGRAMS,
  findProgram,
  missingPrograms,
  PROGRAMS,
} from './kit/programs/programs.ts'

/** Packages that would start a service at the next boot, and its name. */
const SERVICES = [
  ['postfix', 'postfix'],
  ['dovecot-imapd', 'dovecot'],
  ['redis-server', 'redis-server'],
  ['pgbouncer', 'pgbouncer'],
  ['haproxy', 'haproxy'],
  ['knot', 'knot'],
  ['patroni', 'patroni'],
  ['etcd-server', 'etcd'],
] as const

/** Scripts that the pages have and most servers have no font for: package, and a file of it. They are for screenshots only. */
const FONTS = [
  ['fonts-wqy-zenhei', '/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc'],
  ['fonts-hosny-amiri', '/usr/share/fonts/opentype/fonts-hosny-amiri/Amiri-Regular.ttf'],
] as const

/** Libraries of what only `npm run campaign` compiles. */
const LIBRARIES = [['libfuse3-dev', '/usr/include/fuse3/fuse.h']] as const

const QUIET = ['-qq', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0']

// --campaign: also what only `npm run campaign` needs.
const ALL: Readonly<Record<string, readonly [string, string]>> = {
  ...PROGRAMS,
  ...CAMPAIGN_PROGRAMS,
}
const isCampaign = process.argv.includes('--campaign')
const missing = findMissing()
const files = [...FONTS, ...(isCampaign ? LIBRARIES : [])].flatMap(([name, file]) =>
  existsSync(file) ? [] : [name],
)
const { MAYFLY_TEST_WITHOUT } = process.env
const mayInstall = isDebian() && process.getuid?.() === 0 && !MAYFLY_TEST_WITHOUT
if (mayInstall && missing.length + files.length > 0) install([...packagesOf(missing), ...files])
else if (missing.length > 0) announce(missing)

function isDebian(): boolean {
  return (
    existsSync('/etc/os-release') && /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
  )
}

function findMissing(): string[] {
  const more = isCampaign ? Object.keys(CAMPAIGN_PROGRAMS) : []
  return [...missingPrograms(), ...more.filter((name) => findProgram(name) === undefined)]
}

function packagesOf(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => ALL[name]?.[0].split(' ') ?? []))]
}

/** Tests that need a missing program are left out; the run ends with their list. */
function announce(names: readonly string[]): void {
  const lines = names.map((name) => `  ${name.padEnd(24)} ${ALL[name]?.[1]}`)
  const how = isDebian()
    ? `as root: apt-get install ${packagesOf(names).join(' ')}`
    : 'with the package manager of this system'
  console.error(['Missing programs:', ...lines, `To run all tests, install them ${how}`].join('\n'))
}

/** Runs apt without prompts; starts no daemon, now or at the next boot. */
function install(packages: string[]): void {
  console.log(`Installing what the tests need: ${packages.join(' ')}`)
  // Ctrl-C ends apt, and the policy is still restored.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  const restorePolicy = forbidDaemons()
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
  } catch (error) {
    console.error(`apt failed: ${error}`)
  } finally {
    restorePolicy()
  }
  const still = findMissing()
  if (still.length > 0) announce(still)
}

function apply(command: string, args: string[], input = ''): void {
  execFileSync(command, args, {
    input,
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

/** Package scripts consult this file before they start a service; 101 forbids it. Returns how to restore the old one. */
function forbidDaemons(): () => void {
  const policy = '/usr/sbin/policy-rc.d'
  const saved = `${policy}.mayfly`
  // A killed run has left the old file under this name.
  if (existsSync(policy) && !existsSync(saved)) renameSync(policy, saved)
  writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return () => (existsSync(saved) ? renameSync(saved, policy) : rmSync(policy))
}

import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onExit, requireProgram, untilListening } from '../tools/processes.ts'

export interface Postfix {
  pid: number
  /** Mails in the maildir. */
  delivered(): number
  /** Mails in the incoming and active queues. */
  queued(): number
  stop(): void
}

/**
 * A private Postfix that accepts mail for box.test on a loopback port and delivers it to a maildir. It syncs each mail to
 * its queue before the 250, and again at delivery. Throttling (in_flow_delay) and reverse DNS lookups are disabled, and its
 * log is discarded.
 */
export async function startPostfix(
  folder: string,
  port: number,
  preload: string | undefined,
): Promise<Postfix> {
  if (process.getuid?.() !== 0) throw new Error('Postfix must be started as root')
  const postfix = requireProgram('postfix', 'postfix')
  const [config, mailbox] = ['config', 'maildir'].map((name) => join(folder, name))
  if (!config || !mailbox) throw new Error('unreachable: two folders')
  // Its daemons run as another user.
  chmodSync(folder, 0o755)
  for (const name of ['config', 'queue', 'state', 'maildir']) mkdirSync(join(folder, name))
  const { uid, gid } = account('postfix')
  chownSync(join(folder, 'state'), uid, gid)
  chownSync(mailbox, uid, gid)
  writeFileSync(join(config, 'main.cf'), mainCf(folder, { uid, gid, preload }))
  writeFileSync(join(config, 'master.cf'), masterCf(port))

  const control = (command: string) =>
    execFileSync(postfix, ['-c', config, command], { stdio: ['ignore', 'ignore', 'pipe'] })
  control('start')
  let running = true
  const stop = () => {
    if (running) control('stop')
    running = false
  }
  // It daemonizes, so signals to our process group do not reach it.
  onExit(stop)
  await untilListening(port)
  const pidFile = join(folder, 'queue/pid/master.pid')
  return {
    pid: Number(readFileSync(pidFile, 'utf8').trim()),
    delivered: () => countFiles(join(mailbox, 'new')),
    queued: () =>
      countFiles(join(folder, 'queue/incoming')) + countFiles(join(folder, 'queue/active')),
    stop,
  }
}

/** Resolves when every accepted mail is in the maildir. */
export async function allDelivered(postfix: Postfix, expected: number): Promise<void> {
  for (let tries = 0; tries < 6_000; tries += 1) {
    // The queue is checked first because it is short; listing the maildir would compete with Postfix.
    if (postfix.queued() === 0 && postfix.delivered() >= expected) return
    await pause(10)
  }
  throw new Error(`Postfix delivered ${postfix.delivered()} of ${expected} mails in a minute`)
}

interface Account {
  uid: number
  gid: number
}

function mainCf(folder: string, { uid, gid, preload }: Account & { preload: string | undefined }) {
  return [
    'compatibility_level = 3.6',
    `queue_directory = ${folder}/queue`,
    `data_directory = ${folder}/state`,
    'myhostname = postfix.test',
    'mydestination =',
    'inet_interfaces = 127.0.0.1',
    'inet_protocols = ipv4',
    'mynetworks = 127.0.0.0/8',
    'alias_maps =',
    'alias_database =',
    'virtual_mailbox_domains = box.test',
    'virtual_mailbox_maps = static:maildir/',
    `virtual_mailbox_base = ${folder}`,
    `virtual_uid_maps = static:${uid}`,
    `virtual_gid_maps = static:${gid}`,
    'virtual_minimum_uid = 1',
    'virtual_mailbox_limit = 0',
    'in_flow_delay = 0',
    'smtpd_peername_lookup = no',
    'default_process_limit = 150',
    ...(preload ? [`import_environment = MAIL_CONFIG LANG=C LD_PRELOAD=${preload}`] : []),
    '',
  ].join('\n')
}

/** Debian's master.cf, reduced to the services used here, without chroot. */
function masterCf(port: number): string {
  const line = (name: string, options: string, program: string) => `${name} ${options} ${program}`
  const internal = (name: string, program = name) => line(name, 'unix n - n - 0', program)
  return [
    line(`127.0.0.1:${port}`, 'inet n - n - -', 'smtpd'),
    line('pickup', 'unix n - n 60 1', 'pickup'),
    internal('cleanup'),
    line('qmgr', 'unix n - n 300 1', 'qmgr'),
    line('tlsmgr', 'unix - - n 1000? 1', 'tlsmgr'),
    line('rewrite', 'unix - - n - -', 'trivial-rewrite'),
    internal('bounce'),
    internal('defer', 'bounce'),
    internal('trace', 'bounce'),
    line('verify', 'unix - - n - 1', 'verify'),
    line('flush', 'unix n - n 1000? 0', 'flush'),
    line('proxymap', 'unix - - n - -', 'proxymap'),
    line('showq', 'unix n - n - -', 'showq'),
    line('error', 'unix - - n - -', 'error'),
    line('retry', 'unix - - n - -', 'error'),
    line('discard', 'unix - - n - -', 'discard'),
    line('virtual', 'unix - n n - -', 'virtual'),
    line('anvil', 'unix - - n - 1', 'anvil'),
    line('scache', 'unix - - n - 1', 'scache'),
    '',
  ].join('\n')
}

function account(name: string): Account {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  if (!uid || !gid) throw new Error(`no user ${name}`)
  return { uid: Number(uid), gid: Number(gid) }
}

function countFiles(folder: string): number {
  try {
    return readdirSync(folder).length
  } catch {
    return 0
  }
}

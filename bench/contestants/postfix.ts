import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onExit, requireProgram, untilListening } from '../tools/processes.ts'

export interface Postfix {
  pid: number
  /** Mails that lie in the maildir. */
  delivered(): number
  /** Mails on their way there. */
  queued(): number
  stop(): void
}

/**
 * A private Postfix that takes mail for box.test on a loopback port and delivers it to a maildir. It syncs each mail to
 * its queue before it answers 250, and again at delivery. Settings that hold it back are taken off (the pause when mail
 * comes in quicker than it goes out, reverse look-ups); nothing listens to its log lines.
 */
export async function startPostfix(
  folder: string,
  port: number,
  preload: string | undefined,
): Promise<Postfix> {
  if (process.getuid?.() !== 0) throw new Error('Postfix can be started by root only')
  const postfix = requireProgram('postfix', 'postfix')
  const [config, mailbox] = ['config', 'maildir'].map((name) => join(folder, name))
  if (!config || !mailbox) throw new Error('two folders were named')
  // Its parts run under another user and must get through.
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
  // It has left our process group: only this ends it.
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

/** Resolves when everything that was taken lies in the maildir. */
export async function allDelivered(postfix: Postfix, expected: number): Promise<void> {
  for (let tries = 0; tries < 6_000; tries += 1) {
    // The queue is short where the maildir is long: looking at it costs Postfix no time.
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

/** Debian's own list of parts, those that one takes part in, none of them in a chroot. */
function masterCf(port: number): string {
  const line = (name: string, options: string, program: string) => `${name} ${options} ${program}`
  const inside = (name: string, program = name) => line(name, 'unix n - n - 0', program)
  return [
    line(`127.0.0.1:${port}`, 'inet n - n - -', 'smtpd'),
    line('pickup', 'unix n - n 60 1', 'pickup'),
    inside('cleanup'),
    line('qmgr', 'unix n - n 300 1', 'qmgr'),
    line('tlsmgr', 'unix - - n 1000? 1', 'tlsmgr'),
    line('rewrite', 'unix - - n - -', 'trivial-rewrite'),
    inside('bounce'),
    inside('defer', 'bounce'),
    inside('trace', 'bounce'),
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
  if (!uid || !gid) throw new Error(`there is no user ${name}`)
  return { uid: Number(uid), gid: Number(gid) }
}

function countFiles(folder: string): number {
  try {
    return readdirSync(folder).length
  } catch {
    return 0
  }
}

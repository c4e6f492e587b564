import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { program } from '../programs/programs.ts'
import { freePort } from '../programs/server-process.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'

export interface DovecotOptions {
  /** Email address and password of each account. */
  users: Record<string, string>
  /** The token introspection endpoint; enables XOAUTH2 in addition to passwords. */
  introspectionUrl?: string
  /** Implicit TLS, with this PEM of certificate and key. */
  tls?: { cert: string; key: string }
}

export type Dovecot = Awaited<ReturnType<typeof openDovecot>>

/** A private Dovecot on a free local port: Debian's program in a temporary folder, without system users. */
export async function openDovecot(options: DovecotOptions) {
  const folder = tempFolder()
  const { path } = folder
  const port = await freePort()
  // The mail belongs to another user, who needs access through the parent folder.
  chmodSync(path, 0o711)
  const config = join(path, 'dovecot.conf')
  writeFileSync(config, dovecotConfig({ path, port, ...options }))
  if (options.introspectionUrl) {
    writeFileSync(join(path, 'oauth2.conf'), dovecotOauth(options.introspectionUrl))
  }
  const passwords = { ...options.users }
  writePasswords(path, passwords)
  for (const email of Object.keys(passwords)) {
    for (const name of ['INBOX', 'Spam', 'Trash']) makeFolder(folderPath(path, email, name))
  }
  let delivered = 0
  let child = await start(config, port)

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    // The whole process group: connection processes outlive a master that is killed, and a graceful stop may wait ten
    // seconds for them.
    if (child.pid) process.kill(-child.pid, signal)
    await exit
  }

  return {
    port,
    /** Delivers a mail to a folder, atomically. Lines may end with LF. */
    deliver(
      email: string,
      raw: string | Uint8Array,
      { folder: name = 'INBOX', at = new Date() } = {},
    ) {
      const target = folderPath(path, email, name)
      // UIDs are assigned in the order of file names: this keeps the order of deliveries within a millisecond.
      delivered += 1
      const serial = String(delivered).padStart(9, '0')
      const file = `${at.getTime()}.${serial}.test`
      const written = join(target, 'tmp', file)
      writeFileSync(written, raw)
      chownSync(written, MAIL_USER.uid, MAIL_USER.gid)
      // INTERNALDATE is the modification time of the file.
      utimesSync(written, at, at)
      renameSync(written, join(target, 'new', file))
    },
    setPassword(email: string, password: string) {
      passwords[email] = password
      writePasswords(path, passwords)
    },
    /** Stops it, abruptly with SIGKILL. */
    stop: (signal: NodeJS.Signals = 'SIGTERM') => end(signal),
    async start() {
      child = await start(config, port)
    },
    /** Deletes all UIDs of a folder while the server is down: it comes back with another UIDVALIDITY. */
    resetUids(email: string, name = 'INBOX') {
      for (const file of ['uidlist', 'index', 'index.log', 'index.cache']) {
        rmSync(
          join(
            folderPath(path, email, name),
            `dovecot${file.startsWith('uid') ? '-' : '.'}${file}`,
          ),
          {
            force: true,
          },
        )
      }
    },
    /** Its log so far, to search for secrets or to debug. */
    log: () => readFileSync(join(path, 'dovecot.log'), 'utf8'),
    async close() {
      // Killed, because a graceful stop may take seconds.
      await end('SIGKILL')
      folder.remove()
    },
  }
}

/** Processes of a server that was killed may keep its sockets for a moment. */
async function start(config: string, port: number): Promise<ChildProcess> {
  const started: ChildProcess[] = []
  await waitUntil(async () => {
    try {
      started.push(await startOnce(config, port))
    } catch (error) {
      if (!/Socket already exists/.test(String(error))) throw error
    }
    return started.length > 0
  })
  return started[0] as ChildProcess
}

async function startOnce(config: string, port: number): Promise<ChildProcess> {
  const child = spawn(program('dovecot'), ['-F', '-c', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // A process group of its own, so that all its processes can be killed at once.
    detached: true,
  })
  const kill = () => void (child.pid && process.kill(-child.pid, 'SIGKILL'))
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const exited = once(child, 'exit').then(() => {
    throw new Error(`dovecot did not start: ${errors}`)
  })
  // It may exit later, when nothing awaits this promise any more.
  exited.catch(() => {})
  await Promise.race([exited, waitForGreeting(port)])
  return child
}

/** Resolves when the port accepts connections. */
async function waitForGreeting(port: number): Promise<void> {
  await waitUntil(async () => {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return true
    } catch {
      return false
    } finally {
      socket.destroy()
    }
  })
}

function writePasswords(path: string, passwords: Record<string, string>): void {
  const lines = Object.entries(passwords).map(([email, password]) => `${email}:{PLAIN}${password}`)
  const file = join(path, 'passwords')
  writeFileSync(`${file}.new`, `${lines.join('\n')}\n`)
  renameSync(`${file}.new`, file)
}

/** Maildir++: a folder is a directory whose name starts with a dot; INBOX is the root directory. */
function folderPath(path: string, email: string, name: string): string {
  const box = join(path, 'mail', email)
  return name === 'INBOX' ? box : join(box, `.${name}`)
}

function makeFolder(path: string): void {
  for (const part of ['', 'cur', 'new', 'tmp']) {
    const made = join(path, part)
    mkdirSync(made, { recursive: true })
    chownSync(made, MAIL_USER.uid, MAIL_USER.gid)
  }
}

/** The owner of the mail. Dovecot does not access mail as root: then it is `nobody`, otherwise the current user. */
export const MAIL_USER =
  process.getuid?.() === 0
    ? { uid: 65_534, gid: 65_534 }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

interface DovecotPaths extends DovecotOptions {
  path: string
  port: number
}

/** For Dovecot 2.3, the version in Debian 12. */
export function dovecotConfig({ path, port, introspectionUrl, tls }: DovecotPaths): string {
  return `
protocols = imap
listen = 127.0.0.1
base_dir = ${join(path, 'run')}
state_dir = ${join(path, 'state')}
log_path = ${join(path, 'dovecot.log')}
${process.getuid?.() === 0 ? '' : ownUser()}
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:${join(path, 'mail', '%u')}
# Tests count what they open; ten accounts must fit beside each other.
mail_max_userip_connections = 50
auth_failure_delay = 0 secs
disable_plaintext_auth = no
auth_mechanisms = plain login${introspectionUrl ? ' xoauth2' : ''}
ssl = ${tls ? 'required' : 'no'}
${tls ? `ssl_cert = <${tls.cert}\nssl_key = <${tls.key}` : ''}

# Who fails to log in would else wait longer each time.
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service imap-login {
  inet_listener imap {
    port = ${tls ? 0 : port}
  }
  inet_listener imaps {
    port = ${tls ? port : 0}
    ssl = ${tls ? 'yes' : 'no'}
  }
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Spam {
    auto = create
    special_use = \\Junk
  }
  mailbox Trash {
    auto = create
    special_use = \\Trash
  }
}
${introspectionUrl ? oauthPassdb(path) : ''}
passdb {
  driver = passwd-file
  args = ${join(path, 'passwords')}
}
userdb {
  driver = static
  args = uid=${MAIL_USER.uid} gid=${MAIL_USER.gid} home=${join(path, 'mail', '%u')}
}
`
}

export function dovecotOauth(introspectionUrl: string): string {
  return `
introspection_url = ${introspectionUrl}
introspection_mode = post
force_introspection = yes
username_attribute = email
active_attribute = active
active_value = true
`
}

function oauthPassdb(path: string): string {
  return `
passdb {
  driver = oauth2
  mechanisms = xoauth2
  args = ${join(path, 'oauth2.conf')}
}`
}

/** Without root it cannot change its user or chroot. */
function ownUser(): string {
  const name = (flag: string) => execFileSync('id', [flag], { encoding: 'utf8' }).trim()
  return `
default_login_user = ${name('-un')}
default_internal_user = ${name('-un')}
default_internal_group = ${name('-gn')}
service anvil {
  chroot =
}
service imap-login {
  chroot =
}
service stats {
  chroot =
}
`
}

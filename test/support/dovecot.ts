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
import { program } from './programs.ts'
import { freePort } from './server-process.ts'
import { tempFolder } from './stores.ts'
import { waitUntil } from './wait-until.ts'

export interface DovecotOptions {
  /** E-mail address and password of each account. */
  users: Record<string, string>
  /** Where access tokens are looked up; XOAUTH2 is then spoken beside plain passwords. */
  introspectionUrl?: string
  /** TLS from the first byte, with this PEM of certificate and key. */
  tls?: { cert: string; key: string }
}

export type Dovecot = Awaited<ReturnType<typeof openDovecot>>

/** A private Dovecot on a free port of this machine: Debian's program, our own folder, no user of the system touched. */
export async function openDovecot(options: DovecotOptions) {
  const folder = tempFolder()
  const { path } = folder
  const port = await freePort()
  // Its mail is another user's: the folder above must let him through.
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
    // All of its processes: those that hold connections outlive a master that is killed, and one that is asked to end
    // may wait ten seconds for them.
    if (child.pid) process.kill(-child.pid, signal)
    await exit
  }

  return {
    port,
    /** Puts a mail into a folder as a delivery does, whole or not at all. Lines may end with LF. */
    deliver(
      email: string,
      raw: string | Uint8Array,
      { folder: name = 'INBOX', at = new Date() } = {},
    ) {
      const target = folderPath(path, email, name)
      // UIDs are given in the order of names: mails of the same moment in that of their delivery.
      delivered += 1
      const serial = String(delivered).padStart(9, '0')
      const file = `${at.getTime()}.${serial}.test`
      const written = join(target, 'tmp', file)
      writeFileSync(written, raw)
      chownSync(written, MAIL_USER.uid, MAIL_USER.gid)
      // INTERNALDATE is the file's time.
      utimesSync(written, at, at)
      renameSync(written, join(target, 'new', file))
    },
    setPassword(email: string, password: string) {
      passwords[email] = password
      writePasswords(path, passwords)
    },
    /** Ends it, without a word where SIGKILL is asked for. */
    stop: (signal: NodeJS.Signals = 'SIGTERM') => end(signal),
    async start() {
      child = await start(config, port)
    },
    /** Forgets all UIDs of a folder while the server is down: it comes back with another UIDVALIDITY. */
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
    /** What it said so far: for tests that look for secrets, and for people who look for a fault. */
    log: () => readFileSync(join(path, 'dovecot.log'), 'utf8'),
    async close() {
      // Nothing of it is needed again, and it may take seconds to end in peace.
      await end('SIGKILL')
      folder.remove()
    },
  }
}

async function start(config: string, port: number): Promise<ChildProcess> {
  const child = spawn(program('dovecot'), ['-F', '-c', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own, so that all of its processes can be killed at once.
    detached: true,
  })
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const gone = once(child, 'exit').then(() => {
    throw new Error(`dovecot did not start: ${errors}`)
  })
  // It may well end later, and then nobody waits for this any more.
  gone.catch(() => {})
  await Promise.race([gone, waitForGreeting(port)])
  return child
}

/** Resolves when something accepts connections on the port. */
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

/** Maildir++: a folder is a directory with a dot in front, INBOX the directory itself. */
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

/** Whose the mail is. Dovecot reads nobody's mail as root, so then it is `nobody`'s; else ours. */
export const MAIL_USER =
  process.getuid?.() === 0
    ? { uid: 65_534, gid: 65_534 }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

interface DovecotPaths extends DovecotOptions {
  path: string
  port: number
}

/** For Dovecot 2.3, as Debian 12 has it. */
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

/** Without root it can be nobody else than who started it, and can lock itself into no folder. */
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

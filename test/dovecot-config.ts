import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import type { DovecotOptions } from './dovecot.ts'

/** Whose the mail is. Dovecot reads nobody's mail as root, so then it is `nobody`'s; else ours. */
export const MAIL_USER =
  process.getuid?.() === 0
    ? { uid: 65_534, gid: 65_534 }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

interface Place extends DovecotOptions {
  path: string
  port: number
}

/** For Dovecot 2.3, as Debian 12 has it. */
export function dovecotConfig({ path, port, introspectionUrl, tls }: Place): string {
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

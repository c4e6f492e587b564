import { Problem } from './problem.ts'

const PREFIX = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/

/** What a user may ask for before the `@`: lower-cased, checked, and nobody's office. */
export function parsePrefix(text: string): string {
  // As with addresses: letters outside ASCII that lower-case into it are no letters of ours.
  const prefix = /^[\x20-\x7e]+$/.test(text) ? text.toLowerCase() : ''
  if (prefix.length > 64 || !PREFIX.test(prefix)) {
    throw new Problem(
      'invalid_prefix',
      'prefix: use 1 to 64 of a-z and 0-9, with single dots, hyphens or underscores inside.',
    )
  }
  if (isReserved(prefix)) {
    throw new Problem('reserved_prefix', `prefix: "${prefix}" is reserved. Choose another.`)
  }
  return prefix
}

/** True for names that speak for the domain itself: certificate authorities and people trust mail to and from them. */
export function isReserved(local: string): boolean {
  return RESERVED.has(local.replace(/[._+-]/g, ''))
}

/** True for the two offices whose mail is kept for the operator. */
export function isOperator(local: string): boolean {
  return local === 'postmaster' || local === 'abuse'
}

// Compared without separators, so that ssl-admin, ssl.admin and ssladmin are one name.
// RFC 2142 names, the addresses certificate authorities accept, and names that programs send from.
const RESERVED = new Set(
  `abuse accounts admin administrator admins anonymous billing bounce bounces cert certadmin certificate certificates
  certmaster contact daemon devnull dmarc dns donotreply ftp ftpadmin help helpdesk hostmaster info is it itadmin
  legal listserv localhost mail mailerdaemon maildaemon mailer mailmaster majordomo marketing me mis news newsmaster noc
  nobody noreply notification notifications null operator owner password payments pki popmaster postmaster privacy
  register registrar registration root sales security smtp smtpadmin spam ssl ssladmin ssladministrator sslwebmaster
  status support sysadmin sysmaster system team trouble unsubscribe usenet user users usermaster uucp verify webadmin
  webmaster whois www wwwadmin`.split(/\s+/),
)

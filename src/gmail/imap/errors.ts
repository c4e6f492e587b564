import { backoffDelay, withJitter } from '../../base/time.ts'
import type { AccountTiming } from './options.ts'

/** Errors of a remote server, by what they mean for the account. */
export type ImapErrorKind =
  /** The connection closed, or the server refused a command: retried soon. */
  | 'lost'
  | 'unreachable'
  | 'certificate'
  | 'throttled'
  | 'login'
  /** The server sent something inconsistent or unreadable for a message. */
  | 'invalid-data'

/** The message never quotes the server: it is shown to the operator and logged. */
export class ImapError extends Error {
  readonly kind: ImapErrorKind
  constructor(kind: ImapErrorKind, message: string) {
    super(message)
    this.name = 'ImapError'
    this.kind = kind
  }
}

/** Classifies an error of the IMAP library. Repeats only Node's error codes: a server may echo anything, even the password. */
export function toImapError(error: unknown): ImapError {
  if (error instanceof ImapError) return error
  const details = detailsOf(error)
  for (const [pattern, kind, message] of KNOWN_RESPONSES) {
    if (pattern.test(details.responseText)) return new ImapError(kind, message)
  }
  if (details.loginFailed) return loginError(details.responseText)
  if (details.refused) return new ImapError('lost', 'the server refused a command')
  return connectionError(details.code)
}

// Response codes and texts of Gmail, Yahoo, Outlook and Dovecot. Each may come at login as well as later.
const KNOWN_RESPONSES: readonly [RegExp, ImapErrorKind, string][] = [
  [
    /too many (simultaneous )?connections|maximum number of connections/i,
    'throttled',
    'too many simultaneous connections to this account',
  ],
  [
    /overquota|command or bandwidth|bandwidth limit/i,
    'throttled',
    'the account has exhausted its daily quota at the server',
  ],
  [
    /throttle|rate.?limit|too many (requests|logins|login attempts|failed)|^LIMIT\b/i,
    'throttled',
    'the server asks us to slow down',
  ],
  [
    /webalert|web login|log in via your web browser|account (is |has been )?(temporarily )?(locked|disabled|suspended)|lockdown/i,
    'throttled',
    'the account is locked until its owner signs in with a browser',
  ],
  [
    /application-specific password/i,
    'login',
    'the server requires an app password instead of the account password',
  ],
]

// RFC 5530: the server is at fault, not the credentials.
const SERVER_SIDE = /\b(UNAVAILABLE|SERVERBUG|INUSE|CONTACTADMIN)\b|temporary|internal error/i

function loginError(responseText: string): ImapError {
  return SERVER_SIDE.test(responseText)
    ? new ImapError('unreachable', 'logins are temporarily unavailable at the server')
    : new ImapError('login', 'the server does not accept the login')
}

const CERTIFICATE = /CERT|SELF_SIGNED|ISSUER|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH|CRL/
const TLS_FAILURE = /^(EPROTO|ERR_SSL_|ERR_TLS_)/
const UNREACHABLE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|GREETING_TIMEOUT)$/
const INVALID_DATA = /TooLarge$|^ParserError|^MAX_IMAP|^UnexpectedTag$|^InvalidResponse$|^Response/

const KNOWN_CODES: readonly [RegExp, ImapErrorKind, string][] = [
  [CERTIFICATE, 'certificate', 'the server’s certificate is not trusted'],
  [TLS_FAILURE, 'unreachable', 'the server does not speak TLS on this port'],
  [UNREACHABLE, 'unreachable', 'the server cannot be reached'],
  [INVALID_DATA, 'invalid-data', 'invalid response from the server'],
]

function connectionError(code: string): ImapError {
  for (const [pattern, kind, message] of KNOWN_CODES) {
    if (pattern.test(code)) return new ImapError(kind, `${message} (${code})`)
  }
  return new ImapError('lost', code ? `connection closed (${code})` : 'connection closed')
}

function detailsOf(error: unknown) {
  const record: Record<string, unknown> = error instanceof Error ? { ...error } : {}
  const code = stringField(record, 'code')
  // Everything the server said, to be matched against known responses.
  const said = ['serverResponseCode', 'responseText', 'response', 'reason'].map((key) =>
    stringField(record, key),
  )
  return {
    code: /^[A-Za-z0-9_]{1,60}$/.test(code) ? code : '',
    responseText: [...said, responseCode(record['response'])].join(' '),
    loginFailed: record['authenticationFailed'] === true,
    refused: stringField(record, 'responseStatus') !== '',
  }
}

function stringField(record: Record<string, unknown>, key: string): string {
  const value = record[key]
  return typeof value === 'string' ? value : ''
}

/** `OVERQUOTA` of `NO [OVERQUOTA] …`, if the library left the response as a syntax tree. */
function responseCode(response: unknown): string {
  const [first] = arrayField(response, 'attributes')
  const [code] = arrayField(first, 'section')
  return typeof code === 'object' && code !== null && 'value' in code ? String(code.value) : ''
}

function arrayField(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const list: unknown = Reflect.get(value, key)
  return Array.isArray(list) ? list : []
}

/**
 * Delay after the nth failure in a row: exponential, with jitter so that accounts which failed together do not reconnect
 * together. A rate limit or a refused login waits at least its full base delay.
 */
export function retryDelayMs(
  kind: ImapErrorKind,
  failures: number,
  { retryMs, random }: { retryMs: AccountTiming['retryMs']; random: number },
): number {
  const isSlow = kind === 'throttled' || kind === 'login'
  const first = isSlow ? retryMs[kind] : retryMs.lost
  // Network failures are retried at least every few minutes.
  const longest = isSlow ? retryMs.longest : Math.min(retryMs.longest, 300 * retryMs.lost)
  const delay = backoffDelay(failures, { first, max: longest })
  return Math.round(isSlow ? withJitter(delay, random, 1, 1.25) : withJitter(delay, random))
}

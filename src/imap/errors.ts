import type { AccountTempo } from './options.ts'

/** What went wrong with somebody else's server, by what it means for the account. */
export type FaultKind =
  /** The connection ended, or the server refused what it usually does: worth another try soon. */
  | 'lost'
  | 'unreachable'
  | 'certificate'
  | 'throttled'
  | 'login'
  /** A mail whose pieces do not fit each other. */
  | 'doubtful'

/** The message is made of our own words only: it is shown to the operator and written to logs. */
export class ImapFault extends Error {
  readonly kind: FaultKind
  constructor(kind: FaultKind, message: string) {
    super(message)
    this.name = 'ImapFault'
    this.kind = kind
  }
}

/**
 * What an error of the IMAP library means. Of the error itself only codes of Node are repeated: a server may answer with
 * anything, even with the password it was given.
 */
export function faultOf(error: unknown): ImapFault {
  if (error instanceof ImapFault) return error
  const facts = factsOf(error)
  for (const [words, kind, sentence] of SAYINGS) {
    if (words.test(facts.said)) return new ImapFault(kind, sentence)
  }
  if (facts.loginFailed) return loginFault(facts)
  if (facts.refused) return new ImapFault('lost', 'the server refuses what we ask for')
  return connectionFault(facts.code)
}

interface Facts {
  code: string
  /** All that the server said, to look for known words in. */
  said: string
  loginFailed: boolean
  refused: boolean
}

// Response codes and sentences of Gmail, Yahoo, Outlook and Dovecot. Each may come instead of a login as well as later.
const SAYINGS: readonly [RegExp, FaultKind, string][] = [
  [
    /too many (simultaneous )?connections|maximum number of connections/i,
    'throttled',
    'too many connections to this account at once, says the server',
  ],
  [
    /overquota|command or bandwidth|bandwidth limit/i,
    'throttled',
    'the account has used up what the server allows for a day',
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
    'the server wants an app password instead of the account’s own',
  ],
]

// RFC 5530: it is the server that cannot, not the password that is wrong.
const SERVER_CANNOT = /\b(UNAVAILABLE|SERVERBUG|INUSE|CONTACTADMIN)\b|temporary|internal error/i

function loginFault({ said }: Facts): ImapFault {
  return SERVER_CANNOT.test(said)
    ? new ImapFault('unreachable', 'the server cannot log anybody in at the moment')
    : new ImapFault('login', 'the server does not accept the login')
}

const CERTIFICATE = /CERT|SELF_SIGNED|ISSUER|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH|CRL/
const NO_TLS = /^(EPROTO|ERR_SSL_|ERR_TLS_)/
const NOT_THERE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|GREETING_TIMEOUT)$/
const UNREADABLE = /TooLarge$|^ParserError|^MAX_IMAP|^UnexpectedTag$|^InvalidResponse$|^Response/

function connectionFault(code: string): ImapFault {
  if (CERTIFICATE.test(code)) {
    return new ImapFault('certificate', `the server’s certificate is not to be trusted (${code})`)
  }
  if (NO_TLS.test(code)) return new ImapFault('unreachable', `no TLS is spoken there (${code})`)
  if (NOT_THERE.test(code)) {
    return new ImapFault('unreachable', `the server cannot be reached (${code})`)
  }
  if (UNREADABLE.test(code)) {
    return new ImapFault('doubtful', `what the server sends cannot be read (${code})`)
  }
  return new ImapFault('lost', code ? `the connection ended (${code})` : 'the connection ended')
}

function factsOf(error: unknown): Facts {
  const record: Record<string, unknown> = error instanceof Error ? { ...error } : {}
  const code = textIn(record, 'code')
  const said = ['serverResponseCode', 'responseText', 'response', 'reason'].map((key) =>
    textIn(record, key),
  )
  return {
    code: /^[A-Za-z0-9_]{1,60}$/.test(code) ? code : '',
    said: [...said, responseCode(record['response'])].join(' '),
    loginFailed: record['authenticationFailed'] === true,
    refused: textIn(record, 'responseStatus') !== '',
  }
}

function textIn(record: Record<string, unknown>, key: string): string {
  const value = record[key]
  return typeof value === 'string' ? value : ''
}

/** `OVERQUOTA` of `NO [OVERQUOTA] …`, where the library has left the answer in its pieces. */
function responseCode(response: unknown): string {
  const [first] = listIn(response, 'attributes')
  const [code] = listIn(first, 'section')
  return typeof code === 'object' && code !== null && 'value' in code ? String(code.value) : ''
}

function listIn(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const list: unknown = Reflect.get(value, key)
  return Array.isArray(list) ? list : []
}

/**
 * How long to wait after the nth failure in a row, in milliseconds: each wait up to twice the one before, by chance less,
 * so that accounts which failed together do not come back together. A limit or a refused login waits its whole first time.
 */
export function pauseAfter(
  kind: FaultKind,
  failures: number,
  { pause, random }: { pause: AccountTempo['pause']; random: number },
): number {
  const slow = kind === 'throttled' || kind === 'login'
  const first = slow ? pause[kind] : pause.lost
  // What is only a network comes back within minutes.
  const longest = slow ? pause.longest : Math.min(pause.longest, 300 * pause.lost)
  const full = Math.min(longest, first * 2 ** Math.min(Math.max(failures - 1, 0), 30))
  return Math.round(slow ? full * (1 + random / 4) : full * (0.5 + random / 2))
}

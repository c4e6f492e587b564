import { readFileSync } from 'node:fs'
import { type Address, localOf, parseAddress } from '../core/address.ts'
import { type AccountRules, MAX_ACCOUNT_NAME } from '../core/gmail.ts'
import { listIn, type RecordReader, recordReader } from './records.ts'

/** One account of the operator's file, with its secrets. */
export interface AccountSetting extends AccountRules {
  host: string
  port: number
  /** False only for a server on the same machine: passwords would travel in the clear. */
  tls: boolean
  login: { password: string } | { oauth: OAuthClient }
  /** False: known, and left alone. */
  active: boolean
  /** Moves what was fetched to the trash, and empties that of it. */
  deleteAfterFetch: boolean
}

/** The operator's own client at the provider, and the account's consent to it. */
export interface OAuthClient {
  clientId: string
  clientSecret: string
  refreshToken: string
  tokenUrl: string
}

const FIELDS = [
  'email',
  'password',
  'oauth',
  'host',
  'port',
  'tls',
  'dots',
  'active',
  'masked',
  'delete_after_fetch',
]
const OAUTH_FIELDS = ['client_id', 'client_secret', 'refresh_token', 'token_url']

/** The accounts of a JSON file; none when no file is named. Throws what is wrong with it, never what is in it. */
export function accountsFile(path: string): readonly AccountSetting[] {
  if (path === '') return []
  const list = listIn(readFileSync(path, 'utf8'))
  if (!list) throw new Error('the file must hold a JSON list of accounts')
  const accounts = list.map(accountOf)
  const emails = accounts.map(({ email }) => email)
  const twice = emails.findIndex((email, at) => emails.indexOf(email) !== at)
  if (twice >= 0) throw new Error(`account ${twice + 1} stands in the file twice`)
  return accounts
}

function accountOf(value: unknown, at: number): AccountSetting {
  const where = `account ${at + 1}`
  const read = recordReader(where, value, FIELDS)
  const email = emailOf(where, read.text('email'))
  const fallback = /@(gmail|googlemail)\.com$/.test(email) ? 'imap.gmail.com' : undefined
  const host = read.text('host', { fallback })
  const tls = read.flag('tls', true)
  if (!tls && !isHere(host)) {
    throw new Error(`${where}: tls may be false only for a server on this machine`)
  }
  return {
    email,
    host,
    port: read.optional('port', 1, 65_535) ?? 993,
    tls,
    login: loginOf(where, read),
    dots: read.flag('dots', false),
    active: read.flag('active', true),
    masked: read.flag('masked', false),
    deleteAfterFetch: read.flag('delete_after_fetch', false),
  }
}

function emailOf(where: string, text: string): Address {
  const email = parseAddress(text)
  // A plus in the account itself would make its aliases ambiguous.
  if (!email || email.includes('+')) throw new Error(`${where}: email is no address of an account`)
  if (localOf(email).length <= MAX_ACCOUNT_NAME) return email
  throw new Error(`${where}: email has more than ${MAX_ACCOUNT_NAME} letters before the @`)
}

function loginOf(where: string, read: RecordReader): AccountSetting['login'] {
  const [password, oauth] = [read.given('password'), read.given('oauth')]
  if ((password === undefined) === (oauth === undefined)) {
    throw new Error(`${where}: give password or oauth, one of the two`)
  }
  if (oauth === undefined) return { password: read.text('password') }
  const client = recordReader(`${where}: oauth`, oauth, OAUTH_FIELDS)
  return {
    oauth: {
      clientId: client.text('client_id'),
      clientSecret: client.text('client_secret'),
      refreshToken: client.text('refresh_token'),
      tokenUrl: tokenUrl(where, client),
    },
  }
}

/** The client's secret and the account's consent travel there: never in the clear to another machine. */
function tokenUrl(where: string, client: RecordReader): string {
  const text = client.text('token_url', { fallback: 'https://oauth2.googleapis.com/token' })
  const url = URL.parse(text)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere(url.hostname))) return text
  throw new Error(`${where}: oauth: token_url is no https address`)
}

function isHere(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host)
}

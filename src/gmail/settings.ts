import type { XStatic } from 'typebox/schema'
import { type Address, localOf, parseAddress } from '../base/address.ts'
import { FLAG, readList, TEXT } from '../base/settings/list-file.ts'
import type { SettingReader } from '../base/settings/settings.ts'
import type { AccountOptions } from './imap/options.ts'
import { type ConfiguredAccount, MAX_ACCOUNT_LOCAL_LENGTH } from './rules.ts'

const OAUTH = {
  type: 'object',
  properties: { client_id: TEXT, client_secret: TEXT, refresh_token: TEXT, token_url: TEXT },
  required: ['client_id', 'client_secret', 'refresh_token'],
  additionalProperties: false,
} as const

const ACCOUNT = {
  type: 'object',
  properties: {
    email: TEXT,
    password: TEXT,
    oauth: OAUTH,
    host: TEXT,
    port: { type: 'integer', minimum: 1, maximum: 65_535 },
    tls: FLAG,
    dots: FLAG,
    active: FLAG,
    masked: FLAG,
    delete_after_fetch: FLAG,
  },
  required: ['email'],
  additionalProperties: false,
} as const

export function accountConfig(
  { setting, check }: SettingReader,
  { cooldownMs }: { cooldownMs: number },
) {
  const gmailAccounts = setting(
    'MAYFLY_GMAIL_ACCOUNTS_FILE',
    accountsFile,
    '',
    'JSON file with the Gmail (or other IMAP) accounts whose aliases are offered',
  )
  // Mail may be fetched long after it arrived, and its date is from another clock: see rules.ts.
  check(
    gmailAccounts.length === 0 || cooldownMs >= 3_600_000,
    'MAYFLY_ADDRESS_COOLDOWN: at least 1h with Gmail accounts',
  )
  return { gmailAccounts }
}

/** The accounts of a JSON file; none if no file is configured. */
export function accountsFile(path: string): readonly AccountSetting[] {
  if (path === '') return []
  const accounts = readList(path, 'account', ACCOUNT).map(toAccount)
  const emails = accounts.map(({ email }) => email)
  const duplicate = emails.findIndex((email, index) => emails.indexOf(email) !== index)
  if (duplicate >= 0) throw new Error(`account ${duplicate + 1} is a duplicate`)
  return accounts
}

function toAccount(entry: XStatic<typeof ACCOUNT>, index: number): AccountSetting {
  const where = `account ${index + 1}`
  const email = toEmail(where, entry.email)
  const isGmail = /@(gmail|googlemail)\.com$/.test(email)
  const { host = isGmail ? 'imap.gmail.com' : undefined, tls = true } = entry
  if (host === undefined) throw new Error(`${where}: host is missing`)
  // Passwords would be sent in the clear.
  if (!tls && !isLocalHost(host)) {
    throw new Error(`${where}: tls may be false only for a server on this machine`)
  }
  return {
    email,
    host,
    port: entry.port ?? 993,
    tls,
    login: toLogin(where, entry),
    dots: entry.dots ?? false,
    active: entry.active ?? true,
    masked: entry.masked ?? false,
    deleteAfterFetch: entry.delete_after_fetch ?? false,
  }
}

function toEmail(where: string, text: string): Address {
  const email = parseAddress(text)
  // A plus in the account itself would make its aliases ambiguous.
  if (!email || email.includes('+')) {
    throw new Error(`${where}: email is not the address of an account`)
  }
  if (localOf(email).length <= MAX_ACCOUNT_LOCAL_LENGTH) return email
  throw new Error(
    `${where}: email has more than ${MAX_ACCOUNT_LOCAL_LENGTH} characters before the @`,
  )
}

function toLogin(
  where: string,
  { password, oauth }: XStatic<typeof ACCOUNT>,
): AccountSetting['login'] {
  if ((password === undefined) === (oauth === undefined)) {
    throw new Error(`${where}: needs either password or oauth`)
  }
  if (password !== undefined) return { password }
  const { token_url: tokenUrl = 'https://oauth2.googleapis.com/token' } = oauth ?? {}
  // The client secret and the refresh token are sent there.
  const url = URL.parse(tokenUrl)
  const isLocalHttp = url?.protocol === 'http:' && isLocalHost(url.hostname)
  if (url?.protocol !== 'https:' && !isLocalHttp) {
    throw new Error(`${where}: oauth.token_url must be an https URL`)
  }
  return {
    oauth: {
      clientId: oauth?.client_id ?? '',
      clientSecret: oauth?.client_secret ?? '',
      refreshToken: oauth?.refresh_token ?? '',
      tokenUrl,
    },
  }
}

function isLocalHost(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host)
}

/** One account of the operator's file, with its secrets. */
export type AccountSetting = ConfiguredAccount & Omit<AccountOptions, 'limits' | 'timing'>

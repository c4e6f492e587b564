import { readFileSync } from 'node:fs'
import { type Address, localOf, parseAddress } from '../core/address.ts'
import { type AccountRules, MAX_ACCOUNT_LOCAL_LENGTH } from '../core/gmail.ts'
import { PLANS, type Plan } from '../core/plan.ts'

type RecordReader = ReturnType<typeof recordReader>

interface TextRule {
  form?: RegExp
  fallback?: string | undefined
}

/** Reads one object of a settings file field by field. Faults name the place and never quote what stands there: it may be a secret. */
function recordReader(where: string, value: unknown, fields: readonly string[]) {
  if (!isRecord(value)) throw new Error(`${where} is no object`)
  const stranger = Object.keys(value).find((name) => !fields.includes(name))
  if (stranger) throw new Error(`${where} has a field ${stranger}; there are ${fields.join(', ')}`)
  const given = (name: string): unknown => value[name] ?? undefined

  function count(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
    const number = given(name)
    if (
      typeof number === 'number' &&
      Number.isInteger(number) &&
      number >= least &&
      number <= most
    ) {
      return number
    }
    const range = most === Number.MAX_SAFE_INTEGER ? `${least} on` : `${least} to ${most}`
    throw new Error(`${where}: ${name} must be a whole number from ${range}`)
  }

  return {
    given,
    count,
    optional: (name: string, least: number, most?: number): number | undefined =>
      given(name) === undefined ? undefined : count(name, least, most),
    text(name: string, { form = /./s, fallback }: TextRule = {}): string {
      const text = given(name) ?? fallback
      if (typeof text === 'string' && form.test(text)) return text
      throw new Error(`${where}: ${name} is missing or not as it must be`)
    },
    flag(name: string, fallback: boolean): boolean {
      const flag = given(name) ?? fallback
      if (typeof flag === 'boolean') return flag
      throw new Error(`${where}: ${name} must be true or false`)
    },
  }
}

/** The list in a JSON file; undefined when it is no list, or no JSON. */
function listIn(text: string): unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : undefined
  } catch {
    // Not JSON.parse's own words: they quote the text, and that may hold secrets.
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One account of the operator's file, with its secrets. */
interface AccountSetting extends AccountRules {
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
interface OAuthClient {
  clientId: string
  clientSecret: string
  refreshToken: string
  tokenUrl: string
}

const ACCOUNT_FIELDS = [
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
  const read = recordReader(where, value, ACCOUNT_FIELDS)
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
  if (localOf(email).length <= MAX_ACCOUNT_LOCAL_LENGTH) return email
  throw new Error(`${where}: email has more than ${MAX_ACCOUNT_LOCAL_LENGTH} letters before the @`)
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

/** The plans of a JSON file, a list of objects; nothing given: ours. Throws what is wrong with it. */
export function plansFile(path: string): readonly Plan[] {
  if (path === '') return PLANS
  const list = listIn(readFileSync(path, 'utf8')) ?? []
  if (list.length === 0) throw new Error('the file must hold a JSON list of plans')
  const plans = list.map(planOf)
  const twice = plans.find(({ id }, at) => plans.findIndex((plan) => plan.id === id) !== at)
  if (twice) throw new Error(`two plans are called ${twice.id}`)
  return plans
}

/** `starter=price_1,business=price_2` */
export function stripePrices(given: string): Readonly<Record<string, string>> {
  const pairs = given === '' ? [] : given.split(',').map((part) => part.trim().split('='))
  const bad = pairs.find(([plan = '', price = '', ...rest]) => !plan || !price || rest.length > 0)
  if (bad) throw new Error('write plan=price, and a comma between two of them')
  return Object.fromEntries(pairs)
}

// Longer than anybody lives, and far from where dates end.
const MOST_MONTHS = 1_200

const PLAN_FIELDS = [
  'id',
  'name',
  'price_cents',
  'currency',
  'requests',
  'per_day',
  'months',
  'renews',
  'support',
]

function planOf(value: unknown, at: number): Plan {
  const where = `plan ${at + 1}`
  const read = recordReader(where, value, PLAN_FIELDS)
  const plan = {
    id: read.text('id', { form: /^[a-z0-9][a-z0-9-]{0,39}$/ }),
    name: read.text('name', { form: /^.{1,60}$/ }),
    priceCents: read.count('price_cents', 0),
    currency: read.text('currency', { form: /^[a-z]{3}$/, fallback: 'usd' }),
    requests: read.count('requests', 1),
    perDay: read.optional('per_day', 1),
    months: read.optional('months', 1, MOST_MONTHS),
    renews: read.flag('renews', false),
    support: read.text('support', { form: /^.{0,200}$/, fallback: '' }),
  }
  if (plan.renews && plan.months === undefined) {
    throw new Error(`${where} renews, but has no months`)
  }
  return plan
}

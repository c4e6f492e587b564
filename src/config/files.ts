import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { XStatic } from 'typebox/schema'
import { type Address, localOf, parseAddress } from '../base/address.ts'
import { type AccountRules, MAX_ACCOUNT_LOCAL_LENGTH } from '../gmail/rules.ts'
import { PLANS, type Plan } from '../shared/plan.ts'

const TEXT = { type: 'string', minLength: 1 } as const
const FLAG = { type: 'boolean' } as const

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

const COUNT = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const

const PLAN = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,39}$' },
    name: { type: 'string', pattern: '^.{1,60}$' },
    price_cents: { ...COUNT, minimum: 0 },
    currency: { type: 'string', pattern: '^[a-z]{3}$' },
    requests: COUNT,
    per_day: COUNT,
    // A hundred years: far from where dates end.
    months: { type: 'integer', minimum: 1, maximum: 1_200 },
    renews: FLAG,
    support: { type: 'string', pattern: '^.{0,200}$' },
  },
  required: ['id', 'name', 'price_cents', 'requests'],
  additionalProperties: false,
} as const

/** One account of the operator's file, with its secrets. */
interface AccountSetting extends AccountRules {
  host: string
  port: number
  tls: boolean
  login: { password: string } | { oauth: OAuthClient }
  active: boolean
  deleteAfterFetch: boolean
}

interface OAuthClient {
  clientId: string
  clientSecret: string
  refreshToken: string
  tokenUrl: string
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

/** The plans of a JSON file; the default plans if no file is configured. */
export function plansFile(path: string): readonly Plan[] {
  if (path === '') return PLANS
  const plans = readList(path, 'plan', PLAN).map(toPlan)
  if (plans.length === 0) throw new Error('the file must contain a JSON list of plans')
  const duplicate = plans.find(({ id }, index) => plans.findIndex((one) => one.id === id) !== index)
  if (duplicate) throw new Error(`duplicate plan ${duplicate.id}`)
  return plans
}

function toPlan(entry: XStatic<typeof PLAN>, index: number): Plan {
  const { id, name, price_cents, currency = 'usd', requests, per_day, months } = entry
  const { renews = false, support = '' } = entry
  if (renews && months === undefined) {
    throw new Error(`plan ${index + 1}: renews needs months`)
  }
  const limits = { requests, perDay: per_day, months }
  return { id, name, priceCents: price_cents, currency, ...limits, renews, support }
}

/** `starter=price_1,business=price_2` */
export function stripePrices(given: string): Readonly<Record<string, string>> {
  const pairs = given === '' ? [] : given.split(',').map((part) => part.trim().split('='))
  const bad = pairs.find(([plan = '', price = '', ...rest]) => !plan || !price || rest.length > 0)
  if (bad) throw new Error('use plan=price, separated by commas')
  return Object.fromEntries(pairs)
}

const load = createRequire(import.meta.url)

/** Errors name the field and never quote its value: it may be a secret. */
function readList<const S extends object>(path: string, noun: string, schema: S): XStatic<S>[] {
  const list = parseJson(readFileSync(path, 'utf8'))
  if (!Array.isArray(list)) throw new Error(`the file must contain a JSON list of ${noun}s`)
  // Loaded only if there is a file: it would slow every start by about 100 ms.
  const { schemaErrors }: typeof import('../base/settings/schema-errors.ts') = load(
    '../base/settings/schema-errors.ts',
  )
  return list.map((entry: unknown, index) => {
    const [isValid, errors] = schemaErrors(schema, entry)
    if (!isValid) throw new Error(`${noun} ${index + 1}${problemOf(errors)}`)
    return entry as XStatic<S>
  })
}

type SchemaErrors = ReturnType<
  typeof import('../base/settings/schema-errors.ts')['schemaErrors']
>[1]

function problemOf(errors: SchemaErrors): string {
  // For an unknown field the first one says only "schema is false".
  const error = errors.find(({ keyword }) => keyword !== 'boolean')
  if (!error) return ' is invalid'
  const path = error.instancePath.slice(1).replaceAll('/', '.')
  const fieldPath = (name = '') => (path === '' ? name : `${path}.${name}`)
  if (error.keyword === 'additionalProperties') {
    return `: unknown field ${fieldPath(error.params.additionalProperties[0])}`
  }
  if (error.keyword === 'required') {
    return `: ${fieldPath(error.params.requiredProperties[0])} is missing`
  }
  return path === '' ? ` ${error.message}` : `: ${path} ${error.message}`
}

/** Null counts as missing. Undefined if it is not JSON: the message of JSON.parse would quote the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, (_name, value: unknown) => value ?? undefined)
  } catch {
    return undefined
  }
}

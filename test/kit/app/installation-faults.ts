import { parseAddress } from '../../../src/base/address.ts'
import { StoreUnavailable } from '../../../src/base/problem.ts'
import type { Installation } from '../../../src/doctor/checks.ts'
import { settingsReport } from '../../../src/doctor/facts.ts'
import { inspectDataDirectory } from '../../../src/doctor/probes/machine.ts'
import type { LedgerState } from '../../../src/mail/rules/ledger.ts'
import { serverInspection } from '../../../src/runtime/stores.ts'
import { rows } from '../dns/faulty-zones.ts'
import type { startCheckedApp } from './checked-app.ts'

// Faults of an installation for doctor.test.ts.

type CheckedApp = Awaited<ReturnType<typeof startCheckedApp>>

const DATA = { minFreeBytes: 'auto', use: 'mail' } as const
const DOWN = 'postgres://127.0.0.1:1/mail'
const { code, message } = new StoreUnavailable()
const OVERLOADED = JSON.stringify({ status: 'error', code, message })
const LOST_LEDGER: LedgerState = {
  unknownUntil: new Date(Date.now() + 86_400_000),
  reason: 'lost',
  pruned: false,
}

const email = parseAddress('ann@gmail.com')
if (!email) throw new Error('a good address')
// Nothing listens there.
const ACCOUNT: Installation['settings']['gmailAccounts'][number] = {
  email,
  host: '127.0.0.1',
  port: 1,
  tls: false,
  login: { password: 'x' },
  dots: false,
  active: true,
  masked: false,
  deleteAfterFetch: false,
}

/** The fault, and who reports it with which fix. */
export const INSTALLATION_FAULTS = rows(`
unknown setting   | warning | settings    | mayfly config
example domain    | warning | domains     | mayfly domain remove mayfly.example
no domain         | failure | domains     | mayfly setup
new domain        | failure | domains     | systemctl restart mayfly
clock adrift      | warning | clock       | timedatectl set-ntp true
restored ledger   | warning | ledger      | mayfly ledger trust
no base URL       | warning | base-url    | Set MAYFLY_BASE_URL=https://
closed base URL   | warning | base-url    | curl -i https://web.test:1/livez
wrong certificate | failure | base-url    | Install a valid certificate for mx.test
untrusted proxy   | failure | proxy       | Set MAYFLY_TRUST_PROXY
everybody trusted | failure | proxy       | your proxy alone
no admin token    | warning | admin-token | openssl rand -base64 32
short admin token | warning | admin-token | openssl rand -base64 32
PostgreSQL down   | failure | postgres    | MAYFLY_STORE
PostgreSQL lost   | failure | postgres    | MAYFLY_STORE
stuck service     | failure | http        | Restart the service, and read its log
Redis down        | failure | redis       | MAYFLY_REDIS
receipts denied   | failure | spf         | right.test. 3600 IN TXT "v=spf1 a:out.right.test -all"
unknown account   | failure | gmail       | mayfly account test ann@gmail.com
test shop         | warning | payments    | MAYFLY_PAYMENTS=manual
damaged store     | failure | store       | restore the file system or a backup
no data           | failure | data        | install -d -m 700 /missing
full disk         | failure | data        | MAYFLY_MIN_FREE
full mailbox      | failure | delivery    | mayfly inbox --operator --delete --all
lost store        | failure | delivery    | see /readyz
lost domain       | failure | delivery    | mayfly domain add right.test
another refusal   | failure | delivery    | The log of the service
no TLSA answer    | warning | tlsa        | dig TLSA _25._tcp.mx.test
`)

/** What a check finds then, by the name of the fault. */
export function installationFaults({
  settings,
  context,
  app,
  replying,
}: CheckedApp): Record<string, Partial<Installation>> {
  const toPostmaster = (reply: string) => ({
    connectSmtp: replying(/^RCPT TO:<postmaster@/, reply),
  })
  const set = (changed: Partial<Installation['settings']>) => ({
    settings: { ...settings, ...changed },
  })
  const http = (changed: Partial<Installation['settings']['http']>) =>
    set({ http: { ...settings.http, ...changed } })
  const down = { inspectServer: serverInspection({ store: DOWN }) }
  const overloaded: Partial<Installation> = {
    httpGet: async (url, options) =>
      url.endsWith(`:${settings.http.port}/api/domains`)
        ? { status: 503, body: OVERLOADED, date: undefined }
        : await context.httpGet(url, options),
  }
  return {
    'unknown setting': { settingsReport: settingsReport([], { MAYFLY_TYPO: 'x' }) },
    'example domain': { exampleDomains: ['mayfly.example'] },
    'no domain': { domains: [] },
    'new domain': { newDomains: ['new.test'] },
    'clock adrift': { clockSynchronized: async () => false },
    'restored ledger': context.store
      ? { store: { ...context.store, readLedger: async () => LOST_LEDGER } }
      : {},
    'no base URL': http({ baseUrl: '' }),
    'closed base URL': http({ baseUrl: 'https://web.test:1' }),
    'wrong certificate': http({ baseUrl: settings.http.baseUrl.replace('web.', 'mx.') }),
    'untrusted proxy': http({ trustProxy: [] }),
    'everybody trusted': http({ trustProxy: ['0.0.0.0/0'] }),
    'no admin token': set({ adminToken: '' }),
    'short admin token': set({ adminToken: 'secret' }),
    'PostgreSQL down': down,
    // Under a running service.
    'PostgreSQL lost': {
      ...down,
      ...overloaded,
      store: undefined,
      storeFault: 'the store is unavailable',
    },
    'stuck service': overloaded,
    'Redis down': set({ redis: 'redis://127.0.0.1:1' }),
    'receipts denied': set({
      mailOut: { url: 'smtp://out.right.test:587', from: 'Shop <shop@right.test>' },
    }),
    'unknown account': set({ gmailAccounts: [ACCOUNT] }),
    'test shop': set({ payments: { ...settings.payments, provider: 'fake' } }),
    'damaged store': { store: undefined, storeFault: 'mail.db is damaged' },
    'no data': { dataDirectory: async () => inspectDataDirectory('/missing', DATA) },
    'full mailbox': toPostmaster('452 4.2.2 Mailbox full'),
    'lost store': toPostmaster('451 4.3.0 Try again later'),
    'lost domain': toPostmaster('550 5.1.1 No such mailbox'),
    'another refusal': toPostmaster('552 5.3.4 Too big'),
    'no TLSA answer': { dns: { ...context.dns, tlsa: async () => ({ error: 'ESERVFAIL' }) } },
    'full disk': {
      dataDirectory: async () =>
        inspectDataDirectory(app.folder, { ...DATA, minFreeBytes: 2 ** 50 }),
    },
  }
}

import { Client } from 'pg'
import {
  openPostgresMail,
  type PostgresMailOptions,
} from '../../../src/store/postgres/mail-store.ts'
import { openPostgresShop } from '../../../src/store/postgres/shop-store.ts'
import type { ShopStore, Store } from '../../../src/store/store.ts'
import { KNOWN_LEDGER, LEDGER_KEY } from './address-ledger.ts'
import type { Postgres } from './postgres.ts'

const LIMITS = {
  mailbox: { maxMessages: 5, maxBytes: 10_000 },
  poolMaxBytes: 20_000,
  ownMaxBytes: 20_000,
  maxMailBytes: 1_000,
}
const DAY = 86_400_000
/** Longer than a machine stalls. */
const PATIENT = { statementMs: 60_000, waitMs: 60_000 }
export const MAIL_OPTIONS = {
  limits: LIMITS,
  ledgerKey: LEDGER_KEY,
  poolMs: DAY,
  operatorMs: 30 * DAY,
  connections: 3,
  ...PATIENT,
  // Two tables per day: creating sixty days of them would take most of a test's time.
  aheadDays: 1,
}

interface Engines<Store> {
  store: Store
  other: Store
  url: string
  database: string
  close(): Promise<void>
}

/** A mail store in its own database, opened twice, as by two nodes. */
export function openPostgresTestMail(
  postgres: Postgres,
  more: Partial<PostgresMailOptions> = {},
): Promise<Engines<Store>> {
  return openEngines(postgres, mailEngine(more))
}

/** A shop store, likewise. */
export function openPostgresTestShop(postgres: Postgres): Promise<Engines<ShopStore>> {
  return openEngines(postgres, SHOP)
}

/** Opens mail stores that stay open until the server is stopped: a closed one is emptied, but for its partitions, and opened again. */
export function reusedPostgresMail(more: Partial<PostgresMailOptions> = {}) {
  return reusing(mailEngine(more))
}

/** Shop stores, likewise. */
export function reusedPostgresShop() {
  return reusing(SHOP)
}

interface Engine<Store> {
  open(url: string): Promise<Store>
  /** Databases with its schema and no data. */
  idle: WeakMap<Postgres, string[]>
  /** The statements that delete all data. */
  empty: string
  /** Those that delete all rows. */
  clear: string
  /** Those that a new database needs. */
  prepare?: string
}

function reusing<Store extends { close(): Promise<void> }>(engine: Engine<Store>) {
  const unused: Reused<Store>[] = []
  return async (postgres: Postgres): Promise<Engines<Store>> => {
    const { opened, client } = unused.pop() ?? (await openReused(postgres, engine))
    return {
      ...opened,
      async close() {
        await client.query(engine.clear)
        unused.push({ opened, client })
      },
    }
  }
}

interface Reused<Store> {
  opened: Engines<Store>
  /** A new connection would take longer than what it is for. */
  client: Client
}

async function openReused<Store extends { close(): Promise<void> }>(
  postgres: Postgres,
  engine: Engine<Store>,
): Promise<Reused<Store>> {
  const opened = await openEngines(postgres, engine)
  const client = new Client({ connectionString: opened.url })
  // When the server is stopped.
  client.on('error', () => {})
  await client.connect()
  return { opened, client }
}

async function openEngines<Store extends { close(): Promise<void> }>(
  postgres: Postgres,
  { open, idle, empty, prepare }: Engine<Store>,
): Promise<Engines<Store>> {
  const database = idle.get(postgres)?.pop() ?? (await postgres.database())
  const url = postgres.urlOf(database)
  const store = await open(url)
  const other = await open(url)
  if (prepare) await postgres.run(prepare, database)
  return {
    store,
    other,
    url,
    database,
    async close() {
      await store.close()
      await other.close()
      await postgres.run(empty, database)
      idle.set(postgres, [...(idle.get(postgres) ?? []), database])
    },
  }
}

// Emptying a database takes a tenth of the time of creating one.
const idleMail = new WeakMap<Postgres, string[]>()
const idleShop = new WeakMap<Postgres, string[]>()
const SHOP_TABLES =
  'webhook_delivery webhook key_secret api_key usage_day purchase payment_event installation reconciled admin_session'
const EMPTY_SHOP = deleteAll('shop', SHOP_TABLES)
const MAIL_TABLES =
  'session address_ledger key_view mail_domain gmail_account gmail_folder gmail_seen gmail_deferred lease sender_share series block_entry block_counter check_run own_domain mail_log mail_log_address mail_log_counter mail_log_forgotten kept_address door_account door_token door_seen'
const KNOWN_MAIL_LEDGER = KNOWN_LEDGER.replace('ledger_state', 'mail.ledger_state')

/** A mail store whose ledger is complete, as after the first start of a service. */
export async function openNewPostgresMail(options: PostgresMailOptions): Promise<Store> {
  const store = await openPostgresMail(options)
  const client = new Client({ connectionString: options.url })
  await client.connect()
  await client.query(KNOWN_MAIL_LEDGER)
  await client.end()
  return store
}

const CLEAR_MAIL = `
  ${KNOWN_MAIL_LEDGER};
  ${deleteAll('mail', `${MAIL_TABLES} message raw_mail`)}
  update mail.shared_mailbox set version = 0, last_id = 0, count = 0, bytes = 0,
    swept_id = 0;
  select setval('mail.mail_domain_id_seq', 1, false), setval('mail.gmail_account_id_seq', 1, false)`
const EMPTY_MAIL = `
  do $$ declare day regclass; begin
    for day in select inhrelid from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'mail.raw_mail'::regclass and relname ~ '[0-9]$'
    loop execute format('drop table %s', day); end loop;
  end $$;
  ${CLEAR_MAIL}`

function deleteAll(schema: string, tables: string): string {
  const deletes = tables.split(' ').map((table) => `delete from ${schema}.${table};`)
  return deletes.join('')
}

function mailEngine(more: Partial<PostgresMailOptions>): Engine<Store> {
  const open = (url: string) => openPostgresMail({ ...MAIL_OPTIONS, url, ...more })
  const prepare = KNOWN_MAIL_LEDGER
  return { open, idle: idleMail, empty: EMPTY_MAIL, clear: CLEAR_MAIL, prepare }
}

const SHOP: Engine<ShopStore> = {
  open: (url) => openPostgresShop({ url, connections: 3, ...PATIENT }),
  idle: idleShop,
  empty: EMPTY_SHOP,
  clear: EMPTY_SHOP,
}

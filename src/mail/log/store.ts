import { type AsyncMethods, type Operation, query, type Value } from '../../base/operation.ts'
import type { MailLogLine, MailLogResult } from './rules.ts'

export interface StoredLine extends MailLogLine {
  /** Rises in the order of commit. */
  number: number
}

/** A line, and the hashes of the addresses by which it is found. */
export interface NewLine {
  line: MailLogLine
  hashes: readonly string[]
}

/** All lines about these addresses until this time. */
export interface ForgottenLines {
  hashes: readonly string[]
  until: Date
}

export interface LineFilter {
  /** Hashes of addresses: only lines that have all of them. */
  hashes: readonly string[]
  /** Recipients at this domain or below; likewise of the sender. */
  toDomain?: string | undefined
  fromDomain?: string | undefined
  /** Any of these. */
  clients?: readonly string[] | undefined
  result?: MailLogResult | undefined
  id?: string | undefined
}

export interface LineScan extends LineFilter {
  /** Only lines with a smaller number. */
  before: number
  /** Only lines with a larger one. */
  after: number
  limit: number
}

interface LineRow extends Omit<MailLogLine, 'at' | 'id' | 'ip'> {
  number: number
  logged_at: number
  mail_id: string
  client_ip: string
}

const COLUMNS = [
  ...[
    'number',
    'logged_at',
    'result',
    'reason',
    'command',
    'mail_id',
    'client_ip',
    'account',
    'helo',
  ],
  ...['sender', 'recipients', 'size', 'tls', 'ms', 'count'],
]

// What a step examines at most: a few milliseconds on SQLite, where reads keep a thread from others.
const SCANNED_PER_STEP = 2_000

export const mailLogReads = {
  /** The number of the last line; 0 if there is none. */
  *lastLogLine(): Operation<number> {
    const [row] = yield* query<{ number: number | null }>(
      'select max(number) as number from mail.mail_log',
    )
    return row?.number ?? 0
  },

  /** Examines one step of the lines, newest first. `next`: continue before this number; undefined at the end. */
  *scanMailLog(scan: LineScan): Operation<{ lines: StoredLine[]; next: number | undefined }> {
    const [hash] = scan.hashes
    const candidates =
      hash === undefined
        ? 'select number from mail.mail_log where number < $1 and number > $2'
        : 'select number from mail.mail_log_address where number < $1 and number > $2 and hash = $3'
    const [step] = yield* query<{ first: number | null; rows: number }>(
      `select min(number) as first, cast(count(*) as bigint) as rows
       from (${candidates} order by number desc limit ${SCANNED_PER_STEP}) as step`,
      [scan.before, scan.after, ...(hash === undefined ? [] : [hash])],
    )
    const first = step?.first
    if (first === null || first === undefined) return { lines: [], next: undefined }
    const lines = yield* matching({ ...scan, after: first - 1 })
    const isFull = lines.length === scan.limit
    if (!isFull && step?.rows !== SCANNED_PER_STEP) return { lines, next: undefined }
    return { lines, next: isFull ? lines.at(-1)?.number : first }
  },
}

function* matching({ before, after, limit, ...filter }: LineScan): Operation<StoredLine[]> {
  const values: Value[] = [before, after, limit]
  const value = (one: Value) => `$${values.push(one)}`
  const conditions = [
    ...filter.hashes.map(
      (hash) => `number in (select number from mail.mail_log_address
        where hash = ${value(hash)} and number < $1 and number > $2)`,
    ),
    ...(filter.toDomain === undefined
      ? []
      : [domainCondition('recipients', filter.toDomain, value)]),
    ...(filter.fromDomain === undefined
      ? []
      : [domainCondition(`'@' || sender`, filter.fromDomain, value)]),
    ...(filter.clients ? [`client_ip = any(${value(filter.clients)}::text[])`] : []),
    ...(filter.result === undefined ? [] : [`result = ${value(filter.result)}`]),
    ...(filter.id === undefined ? [] : [`mail_id = ${value(filter.id)}`]),
  ]
  const rows = yield* query<LineRow>(
    `select ${COLUMNS} from mail.mail_log where ${['number < $1', 'number > $2', ...conditions].join(' and ')}
     order by number desc limit $3`,
    values,
  )
  return rows.map(({ logged_at: at, mail_id: id, client_ip: ip, ...row }) => {
    return { ...row, at: new Date(at), id, ip }
  })
}

/** A list of addresses, separated by commas, has one at this domain or below. */
function domainCondition(list: string, domain: string, value: (one: Value) => string): string {
  const text = domain.replaceAll(/[%_!]/g, '!$&')
  const like = (start: string) =>
    `lower((${list} || ',') collate ucs_basic) like ${value(`%${start}${text},%`)} escape '!'`
  return `(${like('@')} or ${like('.')})`
}

/** Older lines are deleted. */
const MAX_LOG_LINES = 1_000_000
const DELETED_PER_STEP = 1_000

/** Each in one transaction. */
export const mailLogTransactions = {
  *addLogLines(added: readonly NewLine[]): Operation<void> {
    const before = (yield* takeNumbers(added.length)) - added.length
    const isForgotten = yield* forgottenAmong(added)
    const numbered = added
      .map((one, at) => ({ ...one, number: before + at + 1 }))
      .filter((one) => !isForgotten(one))
    yield* insertRows(
      `mail.mail_log (${COLUMNS})`,
      numbered.map(({ number, line }) => [
        ...[number, line.at.getTime(), line.result, line.reason, line.command, line.id, line.ip],
        ...[line.account, line.helo, line.sender, line.recipients, line.size, line.tls, line.ms],
        line.count,
      ]),
    )
    yield* insertRows(
      'mail.mail_log_address (number, hash)',
      numbered.flatMap(({ number, hashes }) => hashes.map((hash) => [number, hash])),
    )
  },

  /**
   * One small step of deleting all lines about these addresses; returns how many. 0: there are no more. Those that are added later
   * are not stored.
   */
  *forgetLogLines({ hashes, until }: ForgottenLines): Operation<number> {
    // Those who add lines now have committed them, or will read this.
    yield* takeNumbers(0)
    for (const hash of hashes) {
      yield* query(
        `insert into mail.mail_log_forgotten (hash, forgotten_until) values ($1, $2)
         on conflict (hash) do update set forgotten_until = excluded.forgotten_until`,
        [hash, until.getTime()],
      )
    }
    const found = yield* query<{ number: number }>(
      `select distinct number from mail.mail_log_address where hash = any($1::text[])
       limit ${DELETED_PER_STEP}`,
      [hashes],
    )
    yield* deleteLines(found.map(({ number }) => number))
    return found.length
  },
}

/** Locks the counter until the commit: lines become visible in the order of their numbers. Returns the last one taken. */
function* takeNumbers(count: number): Operation<number> {
  const [counter] = yield* query<{ number: number }>(
    `insert into mail.mail_log_counter (id, number) values (1, $1)
     on conflict (id) do update set number = mail_log_counter.number + excluded.number
     returning number`,
    [count],
  )
  return counter?.number ?? 0
}

function* forgottenAmong(added: readonly NewLine[]): Operation<(one: NewLine) => boolean> {
  const rows = yield* query<{ hash: string; forgotten_until: number }>(
    `select hash, forgotten_until from mail.mail_log_forgotten where hash = any($1::text[])`,
    [added.flatMap(({ hashes }) => hashes)],
  )
  return ({ line, hashes }) =>
    rows.some((row) => hashes.includes(row.hash) && line.at.getTime() <= row.forgotten_until)
}

interface LogRetention {
  now: number
  /** Lines until this time are deleted. */
  until: number
  maxLines?: number | undefined
}

/** A step of the sweep. True if there may be more to delete. */
export function* sweepMailLog({
  now,
  until,
  maxLines = MAX_LOG_LINES,
}: LogRetention): Operation<boolean> {
  const [counter] = yield* query<{ number: number }>('select number from mail.mail_log_counter')
  const excess = yield* lineNumbers('number <= $1 order by number', [
    (counter?.number ?? 0) - maxLines,
  ])
  const due = yield* lineNumbers('logged_at <= $1 order by logged_at', [until])
  const last = Math.max(0, ...due)
  // Dated by a clock that was ahead, but older than a line that is due.
  const ahead =
    last === 0
      ? []
      : yield* lineNumbers('number < $1 and logged_at > $2 order by number', [last, now])
  // Without those that are due, it would not be known which others are older.
  const numbers = [...new Set([...ahead, ...excess, ...due])].slice(0, DELETED_PER_STEP)
  yield* deleteLines(numbers)
  return numbers.length === DELETED_PER_STEP
}

function* lineNumbers(condition: string, values: Value[]): Operation<number[]> {
  const rows = yield* query<{ number: number }>(
    `select number from mail.mail_log where ${condition} limit ${DELETED_PER_STEP}`,
    values,
  )
  return rows.map(({ number }) => number)
}

/** Likewise of addresses that were forgotten. */
export function* sweepForgotten(until: number): Operation<boolean> {
  yield* query('delete from mail.mail_log_forgotten where forgotten_until <= $1', [until])
  return false
}

function* deleteLines(numbers: readonly number[]): Operation<void> {
  for (const table of ['mail_log_address', 'mail_log'])
    yield* query(`delete from mail.${table} where number = any($1::bigint[])`, [numbers])
}

// Few sizes, so that there are few statements to prepare.
const ROWS_PER_INSERT = [64, 8, 1]

function* insertRows(into: string, rows: readonly (readonly Value[])[]): Operation<void> {
  let at = 0
  for (const size of ROWS_PER_INSERT) {
    for (; rows.length - at >= size; at += size) {
      const values = rows.slice(at, at + size)
      const lists = values.map(
        (row, index) => `(${row.map((_, column) => `$${index * row.length + column + 1}`)})`,
      )
      yield* query(`insert into ${into} values ${lists}`, values.flat())
    }
  }
}

export interface MailLogStore
  extends AsyncMethods<typeof mailLogReads & typeof mailLogTransactions> {}

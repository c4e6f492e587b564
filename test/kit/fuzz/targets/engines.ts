import { Problem } from '../../../../src/base/problem.ts'
import { printable } from '../../../../src/base/text.ts'
import { findLines, parseLineQuery } from '../../../../src/mail/log/find-lines.ts'
import { mailLogLine } from '../../../../src/mail/log/rules.ts'
import type { ShopStore, Store } from '../../../../src/store/store.ts'
import { DAY, START } from '../../store/fixture.ts'
import { openPostgres } from '../../store/postgres.ts'
import { openPostgresTestMail, openPostgresTestShop } from '../../store/postgres-stores.ts'
import { KEY, NOON } from '../../store/shop-fixture.ts'
import { openSqliteTestMail, openSqliteTestShop } from '../../store/stores.ts'
import { bytesOf } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const HMAC_KEY = new Uint8Array(32).fill(7)
const KEYS = 20
const MAX_LABEL = 100

let shops: readonly ShopStore[] = []
let mails: readonly Store[] = []
let number = 0

/** What is found in labels of keys and in the mail log, on both engines: a label, a text to look for in it, a sender, a domain. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    'Büro EU\nBÜRO\nann@bücher.test\nbücher.test',
    '100% (a_b!)\n%\nann@Sender.TEST\nsender.test',
    'O\'Brien \\ "x"\no\'brien\nann@sub.o_o.test\no_o.test',
    'ΣΊΣΥΦΟΣ İstanbul\nσίσυφος\nann@STRASSE.test\nstraße.test',
  ]),
  tokens: "\n|%|_|!|\\|'|\u212a|ſ|ß|İ|ı|Σ|ς|É|é|e\u0301|A|a|\0|,|@|.test|…".split('|'),
  maxBytes: 400,
  async open() {
    const postgres = await openPostgres()
    const opened = [
      await openSqliteTestShop(),
      await openPostgresTestShop(postgres),
      await openSqliteTestMail(),
      await openPostgresTestMail(postgres),
    ] as const
    shops = [opened[0].store, opened[1].store]
    mails = [opened[2].store, opened[3].store]
    for (const shop of shops) {
      for (let at = 0; at < KEYS; at += 1) {
        await shop.addKey({ ...KEY, id: `k${at}`, secretHash: `${at}`, prefix: `mf_live_${at}` })
      }
    }
    return async () => {
      for (const one of opened) await one.close()
      await postgres.close()
    }
  },
  async run(input) {
    number += 1
    const [label = '', text = '', sender = '', domain = ''] = input.toString().split('\n')
    // As an operator may set it.
    const shown = printable(label.trim().slice(0, MAX_LABEL))
    const keys = await both(shops, async (shop) => {
      await shop.labelKey(`k${number % KEYS}`, shown)
      return (await shop.listKeys({ now: NOON, limit: 100, text })).map(({ id }) => id)
    })
    check(keys.isSame, `keys: ${keys.shown}`)
    const lines = await both(mails, async (mail) => {
      await mail.addLogLines([{ line: mailLogLine(eventOf(sender), 'full'), hashes: [] }])
      return await linesOf(mail, domain)
    })
    check(lines.isSame, `lines: ${lines.shown}`)
    if (number % 100 === 0) {
      const kept = { cooldownMs: DAY, poolMs: DAY, operatorMs: DAY, ownMs: DAY, mailLogMs: 0 }
      for (const mail of mails) await mail.sweep({ now: new Date(START.getTime() + DAY), ...kept })
    }
    return keys.hasFound && lines.hasFound
  },
}

function eventOf(sender: string) {
  const recipients = [{ address: sender }, { address: 'ann@box.test' }]
  const [result, reason, command] = ['accepted', '', 'DATA'] as const
  const mail = { helo: sender, sender, recipients, size: 1, ms: 1, id: `${number}` }
  return { at: START, result, reason, command, ip: '192.0.2.1', ...mail }
}

/** Without the numbers of the lines: a statement that one engine repeats may take some. */
async function linesOf(mail: Store, domain: string) {
  try {
    const filter = parseLineQuery({ to: domain, from: domain }, HMAC_KEY)
    const { lines } = await findLines(mail, { ...filter, hashes: [] }, { limit: 200 })
    return lines.map(({ number: _, ...line }) => line)
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
}

async function both<Store>(stores: readonly Store[], read: (store: Store) => Promise<unknown>) {
  const [sqlite = '', postgres = ''] = await Promise.all(
    stores.map(async (store) => JSON.stringify(await read(store))),
  )
  const shown = `${sqlite} on SQLite, ${postgres} on PostgreSQL`
  return { isSame: sqlite === postgres, hasFound: sqlite.startsWith('[') && sqlite !== '[]', shown }
}

import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { request } from '../http/http-client.ts'
import {
  claim,
  createOrder,
  FAKE_SHOP,
  getOrder,
  type Order,
  payOrder,
} from '../shop/shop-client.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'
import { tempFolder } from '../store/stores.ts'
import { type App, startApp, WAIT_FOR_EXTRACTION } from './app.ts'

const DAY_MS = 86_400_000
const { MAYFLY_TEST_LONG } = process.env
// More than fit into one batch, by number and by size.
const SMALL_MAILS = MAYFLY_TEST_LONG ? 5_000 : 520
export const LARGE_MAILS = 3
const LARGE_BYTES = 3_200_000

export const ENV = {
  ...FAKE_SHOP,
  MAYFLY_ANONYMOUS_MAX_TTL: '100d',
  MAYFLY_SESSION_MAX_TTL: '100d',
  MAYFLY_SESSION_MAX_MESSAGES: '10000',
  MAYFLY_RATE_LIMITS: 'off',
}

/** A service on which every feature has been used, and the credentials of its users. */
export type Fixture = Awaited<ReturnType<typeof fillApp>>

/** Fills a data directory through the APIs and stops the service. `served` is called while it still runs. */
export async function fillApp(served: (folder: string) => Promise<void>) {
  const folder = tempFolder()
  const app = await startApp({
    env: ENV,
    ...WAIT_FOR_EXTRACTION,
    folder: { path: folder.path, remove() {} },
  })
  const orders = [
    await createOrder(app.url, { email: 'buyer@buy.test' }),
    await createOrder(app.url),
  ] as const
  await payOrder(app.url, orders[0])
  const key = String((await claim(app.url, orders[0])).body['key'])
  const boxes = {
    short: await app.session(),
    // Longer than partitions are created in advance.
    long: await app.session({ ttl: String(90 * 86_400) }),
    keyed: await app.session({}, { apikey: key }),
    ended: await app.session({ prefix: 'ended', domain_id: '2' }),
    over: await app.session(),
  }
  await sendMails(app, boxes)
  const ruled = await app.session({ only_from: 'shop.test', max_messages: '2', label: 'Lädchen' })
  if ((await app.mail(ruled.email, SHOP_MAIL)) !== 250) throw new Error('the shop is accepted')
  const emails = () => request(`${app.url}/emails`, { headers: { apikey: key } })
  await emails()
  const emailsTag = (await emails()).headers.get('etag') ?? ''
  await request(`${app.url}/api/delete-session?token=${boxes.ended.token}`, { method: 'POST' })
  const fixture = { folder: folder.path, boxes, ruled, orders, key, remove: folder.remove }
  const responses = await responsesOf(app, fixture)
  await served(folder.path)
  await app.stop()
  addRareRows(folder.path, boxes.over.email)
  return { ...fixture, responses, emailsTag, restsSince: Date.now() }
}

export const SHOP_MAIL = 'From: a@shop.test\r\nSubject: Shop\r\n\r\nx\r\n'

type Boxes = Record<'short' | 'long' | 'keyed' | 'ended' | 'over', { email: string; token: string }>

async function sendMails(app: App, boxes: Boxes): Promise<void> {
  const all = Object.values(boxes).map(({ email }) => email)
  const send = async (to: string[], raw: Uint8Array | string) => {
    const code = await app.mail(to, raw)
    if (code !== 250) throw new Error(`${code} for ${to}`)
  }
  for (let number = 0; number < LARGE_MAILS; number += 1) {
    const body = randomBytes(LARGE_BYTES)
      .toString('base64')
      .replace(/(.{76})/g, '$1\r\n')
    await send([boxes.over.email], `Subject: large ${number}\r\n\r\n${body}\r\n`)
  }
  const fixtures = new URL('../../../src/mime/fixtures/', import.meta.url)
  for (const name of readdirSync(fixtures).filter((one) => one.endsWith('.eml'))) {
    await send(all, readFileSync(new URL(name, fixtures)))
  }
  const code = 'Subject: Your code\r\n\r\nYour code is 482913.\r\n'
  for (const to of [all, ['any@pool.test', 'other@pool.test'], ['postmaster@box.test']]) {
    await send(to, code)
  }
  const small = Array.from(
    { length: SMALL_MAILS },
    (_, number) => `Subject: ${number}\r\n\r\nsmall`,
  )
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const client = await connectSmtp(app.smtpPort)
      for (let raw = small.pop(); raw; raw = small.pop()) {
        const { code, text } = await client.send({ to: [boxes.over.email], raw })
        if (code !== 250) throw new Error(text)
      }
      client.close()
    }),
  )
}

/** Rows that the APIs do not create here, or not soon enough. */
function addRareRows(folder: string, expiredAddress: string): void {
  const mail = new Database(join(folder, 'mail.db'))
  mail.exec(`
    update session set expires_at = ${Date.now() - 3 * DAY_MS} where address = '${expiredAddress}';
    update raw_mail set auth = '{"spf":"pass"}' where id = (select min(id) from raw_mail);
    update message set sender_name = 'Zero' || char(0) || 'Sender', subject = 'Ünïcödé 🪰'
      where mailbox = 2;
    insert into gmail_account (email, health, reason) values ('one@gmail.test', 'down', 'no');
    insert into gmail_folder values (1000001, 'INBOX', 7, 12), (1000001, '[Gmail]/Spam', 8, 3);
    insert into gmail_seen values (1000001, '<a@b>', 'INBOX', 7, 12, 1700000000000);
    insert into gmail_deferred values (1000001, 'INBOX', 7, 11, 99, 'one+a@gmail.test', 300, 2, 1700000000000);
    insert into block_entry values ('spam.test', 'Ünï', 1700000000000, null, 1), ('192.0.2.0/24', '', 1, 2, 2);
    insert into block_counter values (1, 2);
    insert into check_run values (1, 1700000000000, '[]');
    insert into kept_address values ('a hash');
    insert into door_account select id, 'salt and hash' from session where token_hash is not null order by id limit 1;
    insert into door_token select 'h', id, token_hash, 1700000000000 from session, door_account where id = mailbox;
    insert into door_seen select mailbox, id from message where mailbox = (select mailbox from door_account) limit 1;
    insert into own_domain (id, key_id, name, token, state, reason, created_at)
      values ('dom_1', 'key_other', 'own.test', 't', 'active', null, 1700000000000);
    insert into mail_domain (name, sessions, reader, owner) select name, 0, 1, key_id from own_domain;
    insert into session (id, address, token_hash, key_id, created_at, expires_at, count, bytes, own_domain)
      select 7, '@own.test', '@own.test', key_id, 1700000000000, 253402300799000, 1, 9, 'own.test' from own_domain;
    insert into message (mailbox, id, raw_id, recipient, sender_name, sender_email, subject, received_at, size, key_id, permanent)
      select 7, 1836000000000001, raw_id, 'any@own.test', '', '', 'own', 1700000000000, 9, 'key_other', 1
      from message limit 1`)
  mail.close()
  const shop = new Database(join(folder, 'shop.db'))
  shop.exec(`
    insert or ignore into installation values (1, x'00ff10');
    insert or ignore into reconciled values ('fake', 1700000000000);
    insert or ignore into payment_event values ('evt_1', 'paid', null, 1700000000000);
    update api_key set period = 2;
    insert into usage_day select id, 20000, 7 from api_key;
    insert into webhook (id, key_id, url, created_at, last_id, disabled)
      select 'wh_1', id, 'https://receiver.example/', 1700000000000, 1836000000000000, 'gone' from api_key limit 1;
    insert into webhook_delivery values ('wh_1', 1, 1836000000000000, 1, 410, null, 12, 1700000000000);
    insert into admin_session values ('h', 1700000000000)`)
  shop.close()
}

/** All responses that users get about their own data. */
export async function responsesOf(
  { url }: Pick<App, 'url'>,
  { boxes, orders, key }: { boxes: Boxes; orders: readonly Order[]; key: string },
) {
  const headers = { apikey: key }
  const usage = (await request(`${url}/usage`, { headers })).body
  return {
    short: await boxAnswers(url, boxes.short.token),
    long: await boxAnswers(url, boxes.long.token),
    keyed: await boxAnswers(url, boxes.keyed.token),
    used: Number(usage['used']),
    plan: usage['plan'],
    orders: await Promise.all(orders.map(async (one) => (await getOrder(url, one)).body)),
  }
}

async function boxAnswers(url: string, token: string) {
  const { headers, body } = await request(`${url}/api/check-mail?token=${token}`)
  const ids = (body['messages'] as { id: number }[]).map(({ id }) => id)
  const [newest = 0] = ids
  return {
    etag: headers.get('etag'),
    list: body,
    newest,
    mail: (await request(`${url}/api/read-mail?token=${token}&id=${newest}`)).body,
    raws: await Promise.all(
      ids.map((id) => rawHash(`${url}/api/raw-mail?token=${token}&id=${id}`)),
    ),
  }
}

async function rawHash(url: string): Promise<string> {
  const response = await fetch(url)
  const bytes = Buffer.from(await response.arrayBuffer())
  return `${response.status} ${createHash('sha256').update(bytes).digest('hex')}`
}

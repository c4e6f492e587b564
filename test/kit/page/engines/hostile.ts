import { expect } from 'vitest'
import { posted, withCanary } from '../canary.ts'
import { PAYLOADS } from '../hostile-html.ts'
import { HOSTILE_MAILS, hostileMail, htmlMail } from '../hostile-mails.ts'
import { openMailbox } from '../inbox.ts'
import { serveLayers } from '../layers.ts'
import { openAllScript, sendAll } from '../open-all.ts'
import { flush, visitor as visitorOf } from './driver.ts'
import type { Stage } from './flows.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const payloads = PAYLOADS.filter((_, at) => LONG || at % 512 === 0)
const names = Object.keys(HOSTILE_MAILS).filter((_, at) => LONG || at % 16 === 0)
const mails = [
  ...payloads.map((payload, at) => htmlMail(payload, at, posted)),
  ...names.map((name, at) => hostileMail(name, payloads.length + at, posted)),
]

const BATCH = 30

/** Opens hostile mails one after another; each batch has its own mailbox. */
export async function openHostileMails({ engine, app }: Omit<Stage, 'visitor'>): Promise<void> {
  for (let first = 0; first < mails.length; first += BATCH) {
    const some = mails.slice(first, first + BATCH)
    const session = await app.session()
    await sendAll(app, session.email, some)
    const visitor = visitorOf(await engine.open())
    await openMailbox(visitor, app, session)
    await visitor.see('.mail-open')
    await visitor.evaluate(COLLECT)
    const opened = await visitor.evaluate(openAllScript(first, some.length, payloads.length))
    expect(opened).toBe(some.length)
    expect(await visitor.evaluate('location.href')).toBe(`${app.url}/`)
    const ran = (await visitor.evaluate('globalThis.ran')) as number[]
    expect(ran.map((number) => mails[number])).toStrictEqual([])
    await flush(visitor)
    await visitor.close()
  }
}

/** Run in the page. */
const COLLECT = `(() => {
  globalThis.ran = []
  addEventListener('message', ({ data }) => ran.push(data))
})()`

/** A page without layers: what the tests would see if they failed. */
export async function detectHostileMail({ engine }: Pick<Stage, 'engine'>): Promise<void> {
  const server = await serveLayers(undefined)
  const visitor = visitorOf(await engine.open())
  await visitor.goto(`${server.url}/`)
  const layers = JSON.stringify({ purifier: false, sandbox: false })
  const some = [
    '<img src=x onerror=alert(1)>',
    '<p style="background:url(http://canary.test/seen)">x</p>',
  ].map((payload, at) => withCanary(payload, at, posted))
  await visitor.evaluate(COLLECT)
  await visitor.evaluate(`showAll(${JSON.stringify(some)}, ${layers}).then(() => null)`)
  await expect.poll(() => visitor.evaluate('globalThis.ran')).toStrictEqual([0])
  await flush(visitor)
  await visitor.close()
  await server.close()
  const { requests } = engine.seen
  expect(requests.splice(0)).toStrictEqual(['GET http://canary.test/seen HTTP/1.1'])
}

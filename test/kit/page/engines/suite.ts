import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from '../../app/app.ts'
import { type KeyRing, openKeyRing } from '../../shop/keys.ts'
import { FAKE_SHOP } from '../../shop/shop-client.ts'
import { ADMIN_ENV } from '../views/admin.ts'
import { type Engine, openEngine, type StartEngine, visitor } from './driver.ts'
import { type Flow, MAIN_FLOWS, SMOKE } from './flows.ts'
import { detectHostileMail, openHostileMails } from './hostile.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

/** The main flows in one engine; outside of the long tests these. */
export function testEngine(start: StartEngine, some: Record<string, Flow> = SMOKE): void {
  let engine: Engine
  let app: App
  let ring: KeyRing
  beforeAll(async () => {
    app = await startApp({ env: { ...FAKE_SHOP, ...ADMIN_ENV } })
    ring = await openKeyRing(app)
    engine = await openEngine(start)
  })
  afterAll(async () => {
    await engine?.close()
    await ring?.close()
    await app?.stop()
  })
  afterEach(() => {
    const { requests, dialogs, errors } = engine.seen
    const seen = [requests, dialogs, errors].flatMap((list) => list.splice(0))
    expect(seen, 'no foreign request, dialog or uncaught error').toStrictEqual([])
  })

  for (const [name, flow] of Object.entries(LONG ? MAIN_FLOWS : some)) {
    test(name, async () => {
      const driver = await engine.open()
      try {
        await flow({ visitor: visitor(driver), engine, app, ring })
      } finally {
        await driver.close()
      }
    })
  }

  test('hostile mails run no script and send no request', async () => {
    await openHostileMails({ engine, app, ring })
  })

  test('a script that runs and a request that is sent are detected (control)', async () => {
    await detectHostileMail({ engine })
  })
}

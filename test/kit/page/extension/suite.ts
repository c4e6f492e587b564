import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startApp } from '../../app/app.ts'
import { type KeyRing, openKeyRing } from '../../shop/keys.ts'
import { openEngine, type StartEngine } from '../engines/driver.ts'
import type { ExtensionEngine } from './engine.ts'
import { openOfferedLink, signUp } from './flows.ts'
import { attack, clickAfterJump, clickDisguised, DISGUISES, openFramed } from './hostile.ts'
import { allowSite, changeStored, type Stage, saveServer } from './person.ts'
import {
  deleteWithoutServer,
  fillCodeFromPopup,
  refusals,
  SECOND_DOMAIN,
  seeExpired,
  seeRefusal,
  TAKEN,
  useTwoServers,
} from './popup.ts'
import { HOST, startSignUpSite } from './sign-up-site.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

/** The extension in one browser; outside of the long tests, a page that attacks it. */
export function testExtension(start: StartEngine<ExtensionEngine>): () => Stage {
  let stage: Stage
  let ring: KeyRing
  beforeAll(async () => {
    const app = await startApp()
    ring = await openKeyRing(app)
    const site = await startSignUpSite(app)
    const engine = await openEngine(start)
    stage = { app, site, engine: { ...engine } }
    await app.session({ prefix: TAKEN, domain_id: '1' })
    await app.session({ prefix: TAKEN, domain_id: '2' })
    await allowSite(engine, HOST)
  })
  afterAll(async () => {
    await stage?.engine.close()
    await stage?.site.close()
    await ring?.close()
    await stage?.app.stop()
  })
  afterEach(() => {
    const { requests, dialogs, errors } = stage.engine.seen
    const seen = [requests, dialogs, errors].flatMap((list) => list.splice(0))
    expect(seen, 'no foreign request, dialog or uncaught error').toStrictEqual([])
  })

  test.runIf(LONG)('why there is no address is said, and what was typed stays', async () => {
    const all = Object.values(await refusals(stage, ring))
    for (const refusal of all) await seeRefusal(stage, refusal)
    await changeStored(stage.engine, { servers: [] })
  })

  test('a server is saved in the options', async () => {
    const { secret } = await ring.issue()
    await saveServer(stage.engine, { url: stage.app.url, key: secret })
  })

  test('a page gets no token and cannot click for the person', () => attack(stage))

  describe.runIf(LONG)('in the long tests', () => {
    test.each(['form', 'app', 'boxes'] as const)(
      'from the button to the code without typing: %s',
      async (variant) => {
        const { addressMs, codeMs } = await signUp(stage, variant)
        const [address, code] = [addressMs, codeMs].map(Math.round)
        process.stdout.write(`${variant}: address after ${address} ms, code after ${code} ms\n`)
      },
    )
    test.each(DISGUISES)('a click on a button that the page hides fills nothing: %s', (disguise) =>
      clickDisguised(stage, disguise),
    )
    test('the popup creates an address, shows its code and fills it in', () =>
      fillCodeFromPopup(stage))
    test('nothing is offered in a frame', () => openFramed(stage))
    test('a button that jumps under the cursor ignores the click', () => clickAfterJump(stage))
    test('a link is offered, and opened by a click only', () => openOfferedLink(stage))
    test('two servers', async () => {
      const second = await startApp({ env: { MAYFLY_DOMAINS: SECOND_DOMAIN } })
      await useTwoServers(stage, second)
      await second.stop()
    })
    test('without a server, the popup has its addresses, and deletes them', () =>
      deleteWithoutServer(stage))
    test('an expired address says so, and is restored or deleted', () => seeExpired(stage))
  })
  return () => stage
}

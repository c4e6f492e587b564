import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { SCHEMES, SCREENS } from '../browser.ts'
import { checkContrast } from '../contrast.ts'
import { openKeyRing } from '../keys.ts'
import { FAKE_SHOP } from '../shop-client.ts'
import { VIEWS } from './views.ts'
import { checkAccess, visitor } from './visit.ts'

const visits = visitor(FAKE_SHOP)
let ring: ReturnType<typeof openKeyRing>
beforeAll(() => {
  ring = openKeyRing(visits.house())
})
afterAll(() => ring.close())

for (const { name: screen, ...viewport } of SCREENS) {
  describe(`on a ${screen}`, () => {
    for (const { name, complaint, within, open } of VIEWS) {
      test(`${name} fits, and can be read and used by all, light and dark`, async () => {
        visits.expect(complaint ? { complaint } : {})
        const page = await visits.visit('/favicon.svg', { viewport })
        await open({ page, house: visits.house(), ring })
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width)
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme })
          assert.ok((await checkContrast(page, colorScheme)) > 4)
          await checkAccess(page, within)
        }
      })
    }
  })
}

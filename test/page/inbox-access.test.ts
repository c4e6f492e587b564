import { describe, test } from 'vitest'
import { SCHEMES, SCREENS } from '../browser.ts'
import { openKeyRing } from '../keys.ts'
import { inboxViews } from './views/inbox.ts'
import { checkAccess, visitor } from './visit.ts'

const { house, visit, expect } = visitor()
// Five hundred rows are like five, and take long.
const VIEWS = inboxViews.filter(({ name }) => name !== 'inbox-many')

for (const { name: screen, ...viewport } of SCREENS) {
  describe(`everybody can use, on a ${screen},`, () => {
    for (const { name, open } of VIEWS) {
      test(name, async () => {
        expect({ complaint: /401|ERR_FAILED/ })
        const page = await visit('/livez', { viewport })
        await open({ page, house: house(), ring: openKeyRing(house()) })
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme })
          await checkAccess(page)
        }
      })
    }
  })
}

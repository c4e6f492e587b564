import type { Page } from 'playwright-core'
import type { App } from '../support/app.ts'
import type { KeyRing } from '../support/keys.ts'
import { addressViews } from './views/address.ts'
import { docsViews } from './views/docs.ts'
import { inboxViews } from './views/inbox.ts'
import { keyViews } from './views/key.ts'
import { plainViews } from './views/plain.ts'
import { readerViews } from './views/reader.ts'
import { shopViews } from './views/shop.ts'

/** Where a view is made: a page that is on nothing yet, and a house with the test shop behind it. */
export interface ViewContext {
  page: Page
  app: App
  ring: KeyRing
}

/** One face of the site. What makes it ends when all of it is there. */
export interface View {
  name: string
  /** What the browser says of a request that is meant to fail. */
  complaint?: RegExp
  /** What is new of it, by a selector; the rest is looked at elsewhere. */
  within?: string
  /** Made anew for each screen: it goes away by itself. */
  transient?: true
  open(stage: ViewContext): Promise<void>
}

/** Every face of the site: what is looked at by axe, and by people in screenshots. */
export const VIEWS: readonly View[] = [
  ...inboxViews,
  ...addressViews,
  ...shopViews,
  ...keyViews,
  ...docsViews,
  ...plainViews,
  ...readerViews,
]

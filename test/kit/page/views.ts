import type { Page } from 'playwright-core'
import type { App } from '../app/app.ts'
import type { KeyRing } from '../shop/keys.ts'
import { addressViews } from './views/address.ts'
import { adminViews } from './views/admin.ts'
import { docsViews } from './views/docs.ts'
import { inboxViews } from './views/inbox.ts'
import { keyViews } from './views/key.ts'
import { plainViews } from './views/plain.ts'
import { readerViews } from './views/reader.ts'
import { shopViews } from './views/shop.ts'

/** The environment of a view: a blank page, and a service with the test shop. */
export interface ViewContext {
  page: Page
  app: App
  ring: KeyRing
}

/** One view of the site. `open` resolves when it is complete. It works on the screen of a phone. */
export interface View {
  name: string
  /** What the browser logs about a request that is meant to fail. */
  complaint?: RegExp
  /** The selector of the part that is new; the rest is checked in other views. */
  within?: string
  /** The selector of what is like the rest. It is removed once its size is checked: the rest takes long in a long document. */
  repeated?: string
  /** Opened from the view before it, in the same document. */
  continues?: true
  /** Checked in every run, for the whole page; the others only in the long tests. */
  isMain?: true
  /** Has the content of the view before it. */
  screenshotOnly?: true
  open(stage: ViewContext): Promise<void>
  /** After the size has changed: opens again what a script has placed. */
  resized?(page: Page): Promise<void>
}

/** Every view of the site, for axe and for screenshots. */
const VIEWS: readonly View[] = [
  ...inboxViews,
  ...addressViews,
  ...shopViews,
  ...keyViews,
  ...docsViews,
  ...plainViews,
  ...readerViews,
  ...adminViews,
]

/** The views, grouped by the document that they share. */
export const DOCUMENTS: readonly (readonly View[])[] = VIEWS.flatMap((view, at) => {
  if (view.continues) return []
  const next = VIEWS.findIndex((other, index) => index > at && !other.continues)
  return [VIEWS.slice(at, next === -1 ? VIEWS.length : next)]
})

import { attachmentRoute } from './api/attachment.ts'
import { checkMailRoute } from './api/check-mail.ts'
import { checkoutRoute } from './api/checkout.ts'
import { claimRoute } from './api/claim.ts'
import { createSessionRoute } from './api/create-session.ts'
import { deleteMailRoute } from './api/delete-mail.ts'
import { deleteSessionRoute } from './api/delete-session.ts'
import { domainsRoute } from './api/domains.ts'
import { emailsRoute } from './api/emails.ts'
import { eventsRoute } from './api/events.ts'
import { extendSessionRoute } from './api/extend-session.ts'
import { livezRoute } from './api/livez.ts'
import { metricsRoute } from './api/metrics.ts'
import { orderRoute } from './api/order.ts'
import { plansRoute } from './api/plans.ts'
import { rawMailRoute } from './api/raw-mail.ts'
import { readMailRoute } from './api/read-mail.ts'
import { readyzRoute } from './api/readyz.ts'
import { rollKeyRoute } from './api/roll-key.ts'
import { stripeWebhookRoute } from './api/stripe-webhook.ts'
import { usageRoute } from './api/usage.ts'
import { assetRoutes } from './pages/routes/assets.ts'
import { documentRoutes } from './pages/routes/documents.ts'
import { fakePayRoutes } from './pages/routes/fake-pay.ts'
import { pageRoutes } from './pages/routes/pages.ts'
import { plainRoutes } from './pages/routes/plain.ts'
import { shopPageRoutes } from './pages/routes/shop-pages.ts'
import type { Route } from './server/route.ts'

/** In the order in which the documents tell them. */
export const documented: readonly Route[] = [
  domainsRoute,
  createSessionRoute,
  checkMailRoute,
  readMailRoute,
  deleteMailRoute,
  extendSessionRoute,
  deleteSessionRoute,
  attachmentRoute,
  rawMailRoute,
  eventsRoute,
  emailsRoute,
  usageRoute,
  rollKeyRoute,
  plansRoute,
  checkoutRoute,
  orderRoute,
  claimRoute,
  stripeWebhookRoute,
  livezRoute,
  readyzRoute,
  metricsRoute,
]

/** Every endpoint. */
export const routes: readonly Route[] = [
  ...documented,
  ...pageRoutes,
  ...plainRoutes,
  ...assetRoutes,
  ...shopPageRoutes,
  ...fakePayRoutes,
  ...documentRoutes(documented),
]

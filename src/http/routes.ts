import type { Route } from './route.ts'
import { assetRoutes } from './routes/assets.ts'
import { attachmentRoute } from './routes/attachment.ts'
import { checkMailRoute } from './routes/check-mail.ts'
import { checkoutRoute } from './routes/checkout.ts'
import { claimRoute } from './routes/claim.ts'
import { createSessionRoute } from './routes/create-session.ts'
import { deleteMailRoute } from './routes/delete-mail.ts'
import { deleteSessionRoute } from './routes/delete-session.ts'
import { documentRoutes } from './routes/documents.ts'
import { domainsRoute } from './routes/domains.ts'
import { emailsRoute } from './routes/emails.ts'
import { eventsRoute } from './routes/events.ts'
import { extendSessionRoute } from './routes/extend-session.ts'
import { fakePayRoutes } from './routes/fake-pay.ts'
import { livezRoute } from './routes/livez.ts'
import { metricsRoute } from './routes/metrics.ts'
import { orderRoute } from './routes/order.ts'
import { pageRoutes } from './routes/pages.ts'
import { plainRoutes } from './routes/plain.ts'
import { plansRoute } from './routes/plans.ts'
import { rawMailRoute } from './routes/raw-mail.ts'
import { readMailRoute } from './routes/read-mail.ts'
import { readyzRoute } from './routes/readyz.ts'
import { rollKeyRoute } from './routes/roll-key.ts'
import { shopPageRoutes } from './routes/shop-pages.ts'
import { stripeWebhookRoute } from './routes/stripe-webhook.ts'
import { usageRoute } from './routes/usage.ts'

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

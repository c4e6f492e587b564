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
import { livezRoute, readyzRoute } from './api/health.ts'
import { metricsRoute } from './api/metrics.ts'
import { orderRoute } from './api/order.ts'
import { plansRoute } from './api/plans.ts'
import { rawMailRoute } from './api/raw-mail.ts'
import { readMailRoute } from './api/read-mail.ts'
import { rollKeyRoute } from './api/roll-key.ts'
import { stripeWebhookRoute } from './api/stripe-webhook.ts'
import { usageRoute } from './api/usage.ts'
import { pageRoutes } from './pages/app-pages.ts'
import { assetRoutes } from './pages/assets.ts'
import { docsRoutes } from './pages/docs.ts'
import { plainRoutes } from './pages/plain/routes.ts'
import { fakePayRoutes, shopPageRoutes } from './pages/shop.ts'
import type { Route } from './server/route.ts'

/** In the order of the documentation. */
export const documentedRoutes: readonly Route[] = [
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

export const routes: readonly Route[] = [
  ...documentedRoutes,
  ...pageRoutes,
  ...plainRoutes,
  ...assetRoutes,
  ...shopPageRoutes,
  ...fakePayRoutes,
  ...docsRoutes(documentedRoutes),
]

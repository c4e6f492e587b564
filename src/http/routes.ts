import { mailboxRoutes } from '../admin/api/mailboxes.ts'
import { overviewRoutes } from '../admin/api/overview.ts'
import { signInRoutes } from '../admin/api/sign-in.ts'
import { adminPageRoute } from '../admin/pages.ts'
import { blockRoutes } from '../blocks/admin.ts'
import { checkRoutes } from '../doctor/admin.ts'
import { domainRoutes } from '../domains/admin.ts'
import { ownDomainAdminRoutes } from '../domains/own/admin.ts'
import { deleteOwnDomainRoute, ownDomainRoutes } from '../domains/own/api.ts'
import { addyRoute } from '../doors/addy.ts'
import { mailTmAccountRoutes } from '../doors/mailtm/account-routes.ts'
import { mailTmMessageRoutes } from '../doors/mailtm/message-routes.ts'
import { accountRoutes } from '../gmail/admin.ts'
import { keyAdminRoutes } from '../keys/admin.ts'
import { emailsRoute } from '../keys/api/emails.ts'
import { rollKeyRoute, usageRoute } from '../keys/api/keys.ts'
import { readEmailRoutes } from '../keys/api/read-email.ts'
import { keySessionRoutes } from '../keys/api/sessions.ts'
import { checkMailRoute } from '../mail/api/check-mail.ts'
import { attachmentRoute, rawMailRoute } from '../mail/api/downloads.ts'
import { eventsRoute } from '../mail/api/events.ts'
import { deleteMailRoute, readMailRoute } from '../mail/api/read-mail.ts'
import { sendTestRoute } from '../mail/api/send-test.ts'
import {
  createSessionRoute,
  deleteSessionRoute,
  domainsRoute,
  extendSessionRoute,
  updateSessionRoute,
} from '../mail/api/sessions.ts'
import { mailLogRoutes } from '../mail/log/admin.ts'
import { mcpRoute } from '../mcp/api.ts'
import { orderAdminRoutes } from '../shop/admin.ts'
import { checkoutRoute, claimRoute, orderRoute, stripeWebhookRoute } from '../shop/api/orders.ts'
import { plansRoute } from '../shop/api/plans.ts'
import { fakePayRoutes, shopPageRoutes } from '../shop/pages.ts'
import { acmeChallengeRoute } from '../tls/api.ts'
import { webhookAdminRoutes } from '../webhooks/admin.ts'
import { deleteWebhookRoute, webhookRoutes } from '../webhooks/api.ts'
import { webhookEvents } from '../webhooks/schemas.ts'
import type { SentEvent } from './docs/openapi.ts'
import { livezRoute, metricsRoute, readyzRoute } from './health.ts'
import { pageRoutes } from './pages/app-pages.ts'
import { assetRoutes } from './pages/assets.ts'
import { docsRoutes } from './pages/docs.ts'
import { plainRoutes } from './pages/plain/routes.ts'
import { siteFileRoutes } from './pages/site-files.ts'

/** Requests that we send. */
export const documentedEvents: readonly SentEvent[] = [
  // To receivers of key holders.
  ...webhookEvents,
]

/** In the order of the documentation. */
export const documentedRoutes = [
  domainsRoute,
  createSessionRoute,
  checkMailRoute,
  readMailRoute,
  deleteMailRoute,
  extendSessionRoute,
  updateSessionRoute,
  deleteSessionRoute,
  sendTestRoute,
  attachmentRoute,
  rawMailRoute,
  eventsRoute,
  emailsRoute,
  ...readEmailRoutes,
  ...keySessionRoutes,
  usageRoute,
  rollKeyRoute,
  ...webhookRoutes,
  ...ownDomainRoutes,
  plansRoute,
  checkoutRoute,
  orderRoute,
  claimRoute,
  stripeWebhookRoute,
  livezRoute,
  readyzRoute,
  metricsRoute,
]

export const routes = [
  ...documentedRoutes,
  deleteWebhookRoute,
  deleteOwnDomainRoute,
  mcpRoute,
  addyRoute,
  ...mailTmAccountRoutes,
  ...mailTmMessageRoutes,
  ...pageRoutes,
  ...plainRoutes,
  ...assetRoutes,
  ...siteFileRoutes,
  acmeChallengeRoute,
  ...shopPageRoutes,
  ...fakePayRoutes,
  ...docsRoutes(documentedRoutes, documentedEvents),
]

/** Exist only if an admin token is configured. */
export const adminRoutes = [
  adminPageRoute,
  ...signInRoutes,
  ...overviewRoutes,
  ...domainRoutes,
  ...ownDomainAdminRoutes,
  ...mailboxRoutes,
  ...mailLogRoutes,
  ...blockRoutes,
  ...keyAdminRoutes,
  ...orderAdminRoutes,
  ...webhookAdminRoutes,
  ...accountRoutes,
  ...checkRoutes,
]

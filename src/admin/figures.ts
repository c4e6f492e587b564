import { type CheckFigureDeps, checkFigures, readCheckFigures } from '../doctor/admin.ts'
import type { AccountsDeps } from '../gmail/accounts.ts'
import { accountFigures, readAccountFigures } from '../gmail/health.ts'
import { readWebhookFigures, type WebhookFigureDeps, webhookFigures } from '../webhooks/admin.ts'

// What other folders add to the overview: an entry for each in each list.

export const featureFigures = {
  ...accountFigures,
  ...webhookFigures,
  ...checkFigures,
}

export type FigureDeps = AccountsDeps & WebhookFigureDeps & CheckFigureDeps

export async function readFeatureFigures(deps: FigureDeps) {
  return {
    ...(await readAccountFigures(deps)),
    ...(await readWebhookFigures(deps)),
    ...(await readCheckFigures(deps)),
  }
}

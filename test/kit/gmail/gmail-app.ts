import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FinishedCheck } from '../../../src/doctor/rules/result.ts'
import type { AccountHealth, GmailAccount } from '../../../src/gmail/rules.ts'
import { openMailStoreForCli } from '../../../src/runtime/stores.ts'
import { startApp } from '../app/app.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'

export type GmailApp = Awaited<ReturnType<typeof startGmailApp>>

/** An entry of the accounts file, except the login and the server. */
export interface AccountEntry {
  email: string
  dots?: boolean
  active?: boolean
  masked?: boolean
}

export const APP_PASSWORD = 'canary-app-password'

/**
 * A service whose accounts have an unreachable server, so that their health is what the test sets: the fetcher has reported
 * one failure and reports nothing new.
 */
export async function startGmailApp(
  accounts: readonly AccountEntry[],
  env: Record<string, string> = {},
) {
  const folder = tempFolder()
  const file = join(folder.path, 'accounts.json')
  // Nothing listens on port 1.
  const server = { host: '127.0.0.1', port: 1, tls: false, password: APP_PASSWORD }
  writeFileSync(file, JSON.stringify(accounts.map((account) => ({ ...account, ...server }))))
  const all = { MAYFLY_GMAIL_ACCOUNTS_FILE: file, MAYFLY_HTTP_THREADS: '2', ...env }
  const app = await startApp({ folder, env: all })
  const store = await openMailStoreForCli(app.config)

  const account = async (email: string): Promise<GmailAccount> => {
    const found = (await store.listAccounts(app.now())).find((one) => one.email === email)
    if (!found) throw new Error(`${email} is not known`)
    return found
  }
  const idOf = async (email: string) => (await account(email)).id
  const waitForFailure = async (email: string) => {
    await waitUntil(async () => (await account(email)).health === 'failing')
  }
  const setHealth = async (email: string, health: AccountHealth, reason = '') =>
    store.setAccountHealth(await idOf(email), health, reason)

  for (const { email, active = true } of accounts) {
    if (active) await waitForFailure(email)
    await setHealth(email, 'ok')
  }
  return {
    ...app,
    accountsFile: file,
    account,
    idOf,
    setHealth,
    /** As if the daily checks had found this. */
    saveCheck: (check: FinishedCheck) =>
      store.saveCheckRun({ finishedAt: new Date(), checks: [{ ...check, since: new Date() }] }),
    /** Like `mayfly account deactivate`. */
    deactivate: async (email: string) => store.setAccountActive(await idOf(email), false),
    async stop() {
      await store.close()
      await app.stop()
    },
  }
}

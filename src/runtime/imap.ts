import { randomUUID } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { openBlockList } from '../blocks/open-block-list.ts'
import { accountRules } from '../gmail/accounts.ts'
import { accountMailDeps } from '../gmail/fetch-mail.ts'
import { openAccount } from '../gmail/imap/account.ts'
import { superviseAccounts } from '../gmail/jobs.ts'
import { openThreadParts, serveMain, type ThreadSetup } from './setup.ts'

const setup: ThreadSetup = workerData
const { config } = setup
const parts = await openThreadParts(setup)
const { findMailBlock, close: closeBlockList } = await openBlockList(parts)
const end = new AbortController()

const supervising = superviseAccounts({
  ...parts,
  newHolder: randomUUID,
  accountRules: accountRules(config.gmailAccounts),
  open({ id, email }) {
    const setting = config.gmailAccounts.find((account) => account.email === email)
    if (!setting) throw new Error('an active account is not in the accounts file')
    const deps = {
      ...accountMailDeps({ ...parts, findMailBlock }, id),
      random: Math.random,
      log: parts.log,
    }
    return openAccount(deps, { ...setting, limits: { maxBytes: config.smtp.maxBytes } })
  },
  ended: end.signal,
})

serveMain({
  ready: () => true,
  // Another node takes over the accounts meanwhile.
  drain: () => end.abort(),
  async close() {
    end.abort()
    await supervising
    await closeBlockList()
    await parts.close()
    parentPort?.unref()
  },
})

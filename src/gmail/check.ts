import { failure, ok, skipped } from '../base/check-result.ts'
import type { AccountSetting } from './settings.ts'

interface Facts {
  settings: { gmailAccounts: readonly AccountSetting[] }
}

/** Check of `mayfly doctor`: whether each account can log in. */
export const accountCheck = {
  name: 'gmail',
  subjects: ({ settings }: Facts) =>
    settings.gmailAccounts.filter(({ active }) => active).map(({ email }) => email),
  none: 'no accounts',
  async run({ settings }: Facts, email: string) {
    const account = settings.gmailAccounts.find((one) => one.email === email)
    if (!account) return skipped('not in the accounts file')
    const { testAccount } = await import('./imap/account.ts')
    const result = await testAccount(account)
    if (result.ok) return ok('logged in')
    return failure(
      result.reason,
      `Correct its password or token in the file named by MAYFLY_GMAIL_ACCOUNTS_FILE (docs/gmail.md), then: mayfly account test ${email}`,
    )
  },
}

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
      `${fixOf(result.reason, account)}, then: mayfly account test ${email}`,
    )
  },
}

const IN_FILE = 'in the file named by MAYFLY_GMAIL_ACCOUNTS_FILE (docs/gmail.md)'

function fixOf(reason: string, { host, port }: AccountSetting): string {
  if (/app password/.test(reason))
    return `Create an app password in the Google account, and set it ${IN_FILE}`
  if (/certificate/.test(reason))
    return `Use the name of the certificate of ${host} as host ${IN_FILE}`
  if (/cannot be reached|does not speak TLS|connection closed/.test(reason))
    return `Correct host and port ${IN_FILE}, or allow outgoing connections to ${host} port ${port} in the firewall`
  return `Correct its password or token ${IN_FILE}`
}

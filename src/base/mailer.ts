import { toError } from './problem.ts'
import type { SettingReader } from './settings/settings.ts'
import { text } from './settings/values.ts'

// nodemailer is loaded with the first mail: an installation that sends none never loads it.

const TIMEOUT_MS = 30_000

/**
 * Sends plain-text mail; resolves once the server has accepted it. `url` is smtp:// or smtps://, with user name and password if
 * the server requires them.
 */
export function openMailer({ url, from }: { url: string; from: string }) {
  return async ({ to, subject, text }: { to: string; subject: string; text: string }) => {
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({
      url,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
    })
    try {
      await transport.sendMail({
        from,
        // As an object, so that nothing in the address is parsed as a second one.
        to: { name: '', address: to },
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    } finally {
      transport.close()
    }
  }
}

const VERIFY_MS = 5_000

/** Whether the server accepts our login: why not, or undefined. The password is not part of it. */
export async function verifyMailer(url: string): Promise<string | undefined> {
  const { createTransport } = await import('nodemailer')
  const timeouts = { connectionTimeout: VERIFY_MS, greetingTimeout: VERIFY_MS }
  const transport = createTransport({ url, ...timeouts, socketTimeout: VERIFY_MS })
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    const { message, code = '' }: NodeJS.ErrnoException = toError(error)
    const { password } = new URL(url)
    const secrets = [password, decodeURIComponent(password)].filter((text) => text !== '')
    return secrets.reduce((text, one) => text.replaceAll(one, '…'), `${message} (${code})`)
  } finally {
    transport.close()
  }
}

export function mailOutConfig({ setting, secret, check }: SettingReader, baseUrl: string) {
  const url = secret(
    'MAYFLY_MAIL_OUT',
    'mail server for receipts: smtp://user:password@host:587 or smtps://…; empty: no receipts',
  )
  const from = setting('MAYFLY_MAIL_FROM', text, '', 'sender of receipts, such as shop@example.com')
  // Not quoted: it contains a password.
  check(
    url === '' || /^smtps?:$/.test(URL.parse(url)?.protocol ?? ''),
    'MAYFLY_MAIL_OUT: must be smtp://host or smtps://host',
  )
  check(
    url === '' || from.includes('@'),
    'MAYFLY_MAIL_OUT requires MAYFLY_MAIL_FROM, an email address',
  )
  check(
    url === '' || baseUrl !== '',
    'MAYFLY_MAIL_OUT requires MAYFLY_BASE_URL: receipts contain a link',
  )
  return { url, from }
}

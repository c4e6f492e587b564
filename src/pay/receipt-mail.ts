// nodemailer is loaded with the first mail: an installation that sends none never loads it.

interface MailerOptions {
  /** smtp:// or smtps://, with user name and password if the server requires them. */
  url: string
  from: string
}

interface PlainMail {
  to: string
  subject: string
  text: string
}

const TIMEOUT_MS = 30_000

/** Sends plain-text mail; resolves once the server has accepted it. */
export function openMailer({ url, from }: MailerOptions): (mail: PlainMail) => Promise<void> {
  return async ({ to, subject, text }) => {
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

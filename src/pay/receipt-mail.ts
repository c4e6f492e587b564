// nodemailer is loaded with the first mail: a site that sends none does not carry it.

interface MailerOptions {
  /** smtp:// or smtps://, with name and password where the server wants them. */
  url: string
  from: string
}

interface PlainMail {
  to: string
  subject: string
  text: string
}

const TIMEOUT_MS = 30_000

/** Hands plain-text mails to a mail server; each resolves when the server has taken it. */
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
        // As an object: nothing in an address is read as a second one.
        from,
        to: { name: '', address: to },
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' },
        // Nothing of a mail of ours is ever read from a file or fetched.
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    } finally {
      transport.close()
    }
  }
}

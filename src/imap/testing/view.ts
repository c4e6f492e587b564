import { ImapFlow } from 'imapflow'
import { ANN, PASSWORD } from './account.ts'

/** What is in an account's folders, seen by somebody else over IMAP. */
export async function viewOf(port: number, email: string = ANN) {
  return await asOwner(
    port,
    async (client) => ({
      INBOX: await contentOf(client, 'INBOX'),
      Spam: await contentOf(client, 'Spam'),
      Trash: await contentOf(client, 'Trash'),
    }),
    email,
  )
}

/** Does something in the account as its owner would with a mail program. */
export async function asOwner<T>(
  port: number,
  operation: (client: ImapFlow) => Promise<T>,
  email: string = ANN,
): Promise<T> {
  const client = new ImapFlow({
    host: '127.0.0.1',
    port,
    secure: false,
    auth: { user: email, pass: PASSWORD },
    logger: false,
    disableAutoIdle: true,
  })
  await client.connect()
  try {
    return await operation(client)
  } finally {
    await client.logout()
  }
}

async function contentOf(client: ImapFlow, folder: string) {
  const { exists } = await client.mailboxOpen(folder, { readOnly: true })
  if (exists === 0) return []
  const mails = await client.fetchAll('1:*', { uid: true, flags: true, source: true })
  return mails.map(({ uid, flags, source }) => ({
    uid,
    flags: [...(flags ?? [])].filter((flag) => flag !== '\\Recent'),
    raw: source?.toString('latin1') ?? '',
  }))
}

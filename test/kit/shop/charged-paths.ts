import { emailsOf } from '../http/api-client.ts'
import { request } from '../http/http-client.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'
import type { TestKey } from './keys.ts'

const ADDRESS = 'charged@pool.test'
const RAW = 'Content-Disposition: attachment; filename=a.txt\r\n\r\nx\r\n'

/** A path of each endpoint that charges a key: the list of the pool, and one message of it. Charges this key. */
export async function chargedPaths(
  { url, smtpPort }: { url: string; smtpPort: number },
  { headers }: TestKey,
): Promise<string[]> {
  const client = await connectSmtp(smtpPort)
  const { code, text } = await client.send({ to: [ADDRESS], raw: RAW })
  client.close()
  if (code !== 250) throw new Error(text)
  const [{ id = 0 } = {}] = emailsOf(await request(`${url}/emails?to=${ADDRESS}`, { headers }))
  return [
    `/emails?to=${ADDRESS}`,
    `/emails/${id}`,
    `/emails/${id}/raw`,
    `/emails/${id}/attachments/0`,
  ]
}

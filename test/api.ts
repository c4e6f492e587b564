/** The API as a client of it sees it. */
export interface Summary {
  id: number
  subject: string
  sender_email: string
  received_at: string
}

export async function createSession(
  url: string,
  params: Record<string, string> = {},
): Promise<{ email: string; token: string }> {
  const body = new URLSearchParams(params)
  const response = await fetch(`${url}/api/create-session`, { method: 'POST', body })
  if (response.status !== 200) throw new Error(await response.text())
  return (await response.json()) as { email: string; token: string }
}

export async function checkMail(url: string, token: string, query = ''): Promise<Summary[]> {
  const response = await fetch(`${url}/api/check-mail?token=${token}${query}`)
  if (response.status !== 200) throw new Error(await response.text())
  return ((await response.json()) as { messages: Summary[] }).messages
}

/** The mail as it came, without the lines of ours that raw-mail puts before it. */
export async function rawMail(url: string, token: string, id: number): Promise<Buffer> {
  const response = await fetch(`${url}/api/raw-mail?token=${token}&id=${id}`)
  if (response.status !== 200) throw new Error(await response.text())
  return withoutOurLines(Buffer.from(await response.arrayBuffer()))
}

/** Return-Path (not of fetched mail) and Delivered-To are a line each, Received is one with its folds. */
export function withoutOurLines(bytes: Buffer): Buffer {
  const ours =
    /^(?:Return-Path:[^\n]*\r\n)?Delivered-To:[^\n]*\r\nReceived:[^\n]*\r\n(?:[ \t][^\n]*\r\n)*/
  const match = ours.exec(bytes.subarray(0, 4_000).toString('latin1'))
  if (!match) throw new Error('raw-mail does not start with our lines')
  return bytes.subarray(match[0].length)
}

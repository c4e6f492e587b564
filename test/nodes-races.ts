import { ask } from './ask.ts'

/** How often each status was heard; 0 is a connection that failed, 503 has its Retry-After or is counted as 500. */
export type Heard = Record<number, number>

/** Asks for one address so often at once, in turns at all of these nodes. */
export function raceForAddress(
  urls: readonly string[],
  prefix: string,
  count = 200,
): Promise<Heard> {
  const body = () => new URLSearchParams({ prefix, domain_id: '1' })
  return race(urls, count, (url) => ({
    url: `${url}/api/create-session`,
    init: { method: 'POST', body: body() },
  }))
}

/** Asks for the mail of a key so often at once, likewise. */
export function raceForRequests(
  urls: readonly string[],
  { headers }: { headers: Record<string, string> },
  count: number,
): Promise<Heard> {
  return race(urls, count, (url) => ({ url: `${url}/emails`, init: { headers } }))
}

async function race(
  urls: readonly string[],
  count: number,
  question: (url: string) => { url: string; init: RequestInit },
): Promise<Heard> {
  const heard: Heard = {}
  const one = async (_: unknown, at: number) => {
    const { url, init } = question(urls[at % urls.length] ?? '')
    const answer = await ask(url, init).catch(() => undefined)
    const isFault = answer?.status === 503 && !answer.headers.has('retry-after')
    const status = isFault ? 500 : (answer?.status ?? 0)
    heard[status] = (heard[status] ?? 0) + 1
  }
  await Promise.all(Array.from({ length: count }, one))
  return heard
}

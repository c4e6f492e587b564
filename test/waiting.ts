import { ask } from './ask.ts'

/** Resolves when so many requests wait: what is done then is news to them. */
export async function untilWaiting(count: number, { url }: { url: string }): Promise<void> {
  const waiters = async () =>
    Number(/^mayfly_http_waiting (\d+)$/m.exec((await ask(`${url}/metrics`)).text)?.[1])
  while ((await waiters()) !== count) await new Promise(setImmediate)
}

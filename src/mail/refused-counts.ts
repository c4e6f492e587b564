import type { Host } from '../base/address.ts'
import { logFault } from '../base/jobs/outage.ts'
import type { Log } from '../base/log/log.ts'
import type { MailStore } from './store.ts'

const INTERVAL_MS = 1_000

interface CountDeps {
  store: Pick<MailStore, 'countOwnRefused'>
  log: Pick<Log, 'error'>
}

/** Adds up mails refused at domains of keys, and stores the sums about once a second: no reply waits for that. */
export function openRefusedCounts({ store, log }: CountDeps) {
  const counts = new Map<Host, number>()
  let timer: NodeJS.Timeout | undefined
  let written = Promise.resolve()

  /** What cannot be stored is kept for the next time. */
  async function write(): Promise<void> {
    try {
      // A copy: what is counted meanwhile waits for the next time.
      for (const [name, count] of [...counts]) {
        await store.countOwnRefused(name, count)
        const more = (counts.get(name) ?? 0) - count
        if (more > 0) counts.set(name, more)
        else counts.delete(name)
      }
    } catch (error) {
      logFault(log, error, 'mails refused at domains of keys could not be counted; retrying')
    }
  }

  function schedule(): void {
    timer ??= setTimeout(() => {
      written = write().then(() => {
        timer = undefined
        if (counts.size > 0) schedule()
      })
    }, INTERVAL_MS)
  }

  return {
    count(name: Host): void {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      schedule()
    },
    async close(): Promise<void> {
      clearTimeout(timer)
      await written
      clearTimeout(timer)
      await write()
    },
  }
}

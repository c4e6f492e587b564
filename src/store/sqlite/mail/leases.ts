import type { Lease } from '../../../base/jobs/lease.ts'

/** In the writer's memory: leases end with the process, so that after a restart nobody waits for one to expire. */
export function leaseWrites() {
  const held = new Map<string, { holder: string; until: number }>()

  return {
    acquireLease({ name, holder, ms }: Lease): boolean {
      const now = performance.now()
      const lease = held.get(name)
      if (lease && lease.holder !== holder && lease.until > now) return false
      held.set(name, { holder, until: now + ms })
      return true
    },
    releaseLease(name: string, holder: string): void {
      if (held.get(name)?.holder === holder) held.delete(name)
    },
  }
}

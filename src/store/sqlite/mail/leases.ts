import type { Lease } from '../../store.ts'

/** Kept in the writer's memory: it dies with the service, so that after a restart nobody waits for a lease to end. */
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
    releaseLease({ name, holder }: Pick<Lease, 'name' | 'holder'>): void {
      if (held.get(name)?.holder === holder) held.delete(name)
    },
  }
}

import { mailboxes } from '../address/mailboxes.ts'
import { kept } from '../site/kept.ts'
import type { Deletion } from './deletion.ts'
import { parseMarks } from './marks.ts'

const SHELF = 'deleting'

/**
 * Deletions that the server has not confirmed yet. They survive a reload and a crash; ids by address, nothing of a mail.
 * Tabs share them: two that send the same deletion do no harm, because the second is answered 404.
 */
export const pendingDeletions = {
  list(): Deletion[] {
    const ids = parseMarks(kept.find(SHELF))
    return mailboxes.value.flatMap(({ email, token }) =>
      (ids[email] ?? []).map((id) => ({ token, id })),
    )
  },
  add(deletions: readonly Deletion[]): void {
    change(deletions, (ids, more) => ids.union(more))
  },
  remove(deletions: readonly Deletion[]): void {
    change(deletions, (ids, less) => ids.difference(less))
  },
}

type Ids = ReadonlySet<number>

/** Addresses that this browser no longer has are dropped: their mail is gone, or out of reach. */
function change(deletions: readonly Deletion[], step: (ids: Ids, changed: Ids) => Ids): void {
  if (deletions.length === 0) return
  const before = parseMarks(kept.find(SHELF))
  const after = mailboxes.value.flatMap(({ email, token }) => {
    const changed = deletions.filter((one) => one.token === token).map(({ id }) => id)
    const ids = [...step(new Set(before[email]), new Set(changed))]
    return ids.length > 0 ? [[email, ids] as const] : []
  })
  const text = JSON.stringify(Object.fromEntries(after))
  kept.keep(SHELF, after.length > 0 ? text : undefined)
}

/** Which messages were read in this browser, by address. Ids only: nothing of a mail is kept. */
export type IdsByAddress = Readonly<Record<string, readonly number[]>>

/** A mailbox holds no more, unless the operator lets it. */
const MAX_IDS = 1_000

/** What was kept. Whatever else stands there is nothing of ours, and is passed over. */
export function parseIds(text: string | undefined): IdsByAddress {
  let found: unknown
  try {
    found = JSON.parse(text ?? '{}')
  } catch {
    return {}
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return {}
  return Object.fromEntries(
    Object.entries(found).flatMap(([email, ids]) =>
      Array.isArray(ids) ? [[email, ids.filter((id) => Number.isSafeInteger(id))]] : [],
    ),
  )
}

/** With these read too; of addresses that the browser knows no more, nothing stays. */
export function withIds(
  marks: IdsByAddress,
  { email, ids }: { email: string; ids: readonly number[] },
  addresses: readonly string[],
): IdsByAddress {
  const before = marks[email] ?? []
  const after = [...new Set([...before, ...ids])].slice(-MAX_IDS)
  const kept = Object.entries(marks).filter(([other]) => addresses.includes(other))
  return { ...Object.fromEntries(kept), [email]: after }
}

/** Ids of messages by address, as stored in this browser. Nothing else of a mail is ever stored. */
export type IdsByAddress = Readonly<Record<string, readonly number[]>>

/** As many as a mailbox holds by default. */
const MAX_IDS = 1_000

/** Ignores whatever is not ours. */
export function parseIds(text: string | undefined): IdsByAddress {
  let value: unknown
  try {
    value = JSON.parse(text ?? '{}')
  } catch {
    return {}
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([email, ids]) =>
      Array.isArray(ids) ? [[email, ids.filter((id) => Number.isSafeInteger(id))]] : [],
    ),
  )
}

/** Adds ids to one address and drops those of addresses that this browser no longer has. */
export function withIds(
  idsByAddress: IdsByAddress,
  { email, ids }: { email: string; ids: readonly number[] },
  addresses: readonly string[],
): IdsByAddress {
  const after = [...new Set([...(idsByAddress[email] ?? []), ...ids])].slice(-MAX_IDS)
  const retained = Object.entries(idsByAddress).filter(([other]) => addresses.includes(other))
  return { ...Object.fromEntries(retained), [email]: after }
}

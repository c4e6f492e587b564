/** For stores that are opened without a service, which would derive it from the installation's secret. */
export const LEDGER_KEY = new Uint8Array(32).fill(7)

/** What a service inserts at its first start: without it, no address is known. */
export const KNOWN_LEDGER = `insert into ledger_state (id, reason, pruned) values (1, '', false)
  on conflict (id) do update set unknown_until = null, reason = '', pruned = false, converted = false`

import { type AsyncMethods, type Operation, query } from '../base/operation.ts'

/**
 * account: key and URL at a CA, by directory; certificate: key and chain as PEM, by host name; attempts: see rules.ts, by host
 * name; challenge: the key authorization, by token (http-01) or host name (tls-alpn-01).
 */
export type TlsKind = 'account' | 'certificate' | 'attempts' | 'challenge'

export interface TlsEntry {
  kind: TlsKind
  name: string
  value: string
  /** It has a file that cannot be read, and no value. */
  isUnreadable?: true
}

// On many nodes: a single one has files instead, see files.ts.

export const tlsReads = {
  listTlsEntries: (kind: TlsKind): Operation<TlsEntry[]> =>
    query('select kind, name, value from mail.tls_entry where kind = $1 order by name', [kind]),
}

export const tlsWrites = {
  *saveTlsEntry({ kind, name, value }: TlsEntry): Operation<void> {
    yield* query(
      `insert into mail.tls_entry (kind, name, value) values ($1, $2, $3)
       on conflict (kind, name) do update set value = excluded.value`,
      [kind, name, value],
    )
  },

  *deleteTlsEntry(kind: TlsKind, name: string): Operation<void> {
    yield* query('delete from mail.tls_entry where kind = $1 and name = $2', [kind, name])
  },
}

export interface TlsStore extends AsyncMethods<typeof tlsReads & typeof tlsWrites> {}

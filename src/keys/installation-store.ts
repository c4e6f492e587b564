import { type AsyncMethods, type Operation, query } from '../base/operation.ts'

// The secret of this installation, and how old its keys are.

interface SecretRow {
  secret: Uint8Array
}

export const installationReads = {
  /** Undefined before the first start of a service. */
  *findSecret(): Operation<Uint8Array | undefined> {
    return (yield* query<SecretRow>('select secret from shop.installation'))[0]?.secret
  },
  /** When a key or order was created or, to the day, used last. */
  *newestTime(): Operation<Date | undefined> {
    const [row] = yield* query<{ newest: number | null }>(
      `select max(time) as newest from (
         select max(created_at) as time from shop.api_key
         union all select max(created_at) from shop.purchase
         union all select cast(max(day) as bigint) * 86400000 from shop.usage_day) as times`,
    )
    return typeof row?.newest === 'number' ? new Date(row.newest) : undefined
  },
  /** Whether a service has used this shop: it has a secret, or requests were counted. */
  *hasServed(): Operation<boolean> {
    const found = yield* query(
      'select 1 from shop.installation union all select 1 from shop.usage_day limit 1',
    )
    return found.length > 0
  },
}

export const installationWrites = {
  *saveSecret(fresh: Uint8Array): Operation<Uint8Array> {
    const [row] = yield* query<SecretRow>(
      `insert into shop.installation as known (id, secret) values (1, $1)
       on conflict (id) do update set secret = known.secret returning secret`,
      [fresh],
    )
    if (!row) throw new Error('the installation secret was not stored')
    return row.secret
  },
}

export interface InstallationStore extends AsyncMethods<typeof installationReads> {
  /** Random bytes of this installation: the first that were ever passed. */
  installationSecret(fresh: Uint8Array): Promise<Uint8Array>
}

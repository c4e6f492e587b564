import type { Host } from '../../base/address.ts'
import { type Operation, query } from '../../base/operation.ts'
import { catchAllAddress, PERMANENT } from '../../mail/rules/session.ts'
import { addCatchAll } from './store.ts'

/**
 * After an older state of the store was restored. Another key may have taken a domain over since: its mail is deferred until its
 * record is found. Tokens of permanent addresses may have been replaced: the key gets new ones from roll-token. Versions are higher
 * than all that were lost, so that no ETag of then is valid. Where sessions are lost, so is the one for mail without another.
 */
export function* distrustOwnDomains(now: Date): Operation<number> {
  const held = yield* query<{ name: Host; key_id: string }>(
    `update mail.own_domain set state = 'suspended', checked_at = null,
       reason = case when reason = 'suspended_by_operator' then reason else 'restored' end
     where state <> 'pending' returning name, key_id`,
  )
  yield* query('update mail.mail_domain set active = false where owner is not null')
  const permanent = `own_domain is not null and expires_at = ${PERMANENT.getTime()} and token_hash is not null`
  yield* query(`select 1 from mail.session where ${permanent} order by id for no key update`)
  yield* query(
    `update mail.session set token_hash = 'restored ' || id,
       version = greatest(version + 1, cast($1 as bigint)) where ${permanent}`,
    [now.getTime()],
  )
  yield* query(
    `update mail.key_view set version = greatest(version + 1, cast($1 as bigint))
     where key_id in (select owner from mail.mail_domain)`,
    [now.getTime()],
  )
  for (const { name, key_id: keyId } of held) {
    const there = yield* query('select 1 from mail.session where address = $1', [
      catchAllAddress(name),
    ])
    if (there.length === 0) yield* addCatchAll(name, keyId, now)
  }
  return held.length
}

import { parseAddress } from '../core/address.ts'
import type { Session } from '../core/session.ts'
import { timestampFields, utcTimestamp } from '../core/time.ts'
import { endSessionByAddress, listSessions, type OperatorDeps } from '../service/operator.ts'
import { count } from './key-view.ts'
import { type Print, Refused, table } from './output.ts'
import { bytesShown, volumeShown } from './volume.ts'

interface ListOptions {
  largest?: boolean
  limit: number
  json?: boolean
}

/** `mayfly session list` */
export async function printSessions(
  deps: OperatorDeps,
  { largest, limit, json }: ListOptions,
  print: Print,
): Promise<void> {
  // One more than is shown, to know whether there are more.
  const order = largest ? 'largest' : 'newest'
  const found = await listSessions(deps, { order, limit: limit + 1 })
  const sessions = found.slice(0, limit)
  if (json) {
    print(JSON.stringify(sessions.map(sessionJson), null, 2))
    return
  }
  if (sessions.length === 0) {
    print('No live sessions.')
    return
  }
  const rows = sessions.map((session) => [
    session.address,
    utcTimestamp(session.createdAt),
    utcTimestamp(session.expiresAt),
    count(session.count),
    bytesShown(session.bytes),
    session.keyId === undefined ? 'no' : 'yes',
  ])
  const heading = ['ADDRESS', 'CREATED', 'EXPIRES', 'MESSAGES', 'SIZE', 'KEY']
  for (const line of table([heading, ...rows])) print(line)
  if (found.length > limit) print(`The first ${count(limit)}; for more, use --limit.`)
}

/** `mayfly session end` */
export async function endSession(deps: OperatorDeps, text: string, print: Print): Promise<void> {
  const address = parseAddress(text)
  if (!address) throw new Refused(`${JSON.stringify(text)} is not an address.`, 2)
  const ended = await endSessionByAddress(deps, address)
  if (!ended) throw new Refused(`No live session holds ${address}. See: mayfly session list`)
  // The next sweep deletes them.
  const unread = volumeShown({ messages: ended.count, bytes: ended.bytes })
  print(`Ended the session of ${address}. ${unread} can no longer be read.`)
}

/** Names and times as in the API; never a token or its hash, never the key's id. */
function sessionJson({ address, createdAt, expiresAt, count: messages, bytes, keyId }: Session) {
  return {
    email: address,
    ...timestampFields('created_at', createdAt),
    ...timestampFields('expires_at', expiresAt),
    messages,
    bytes,
    key: keyId !== undefined,
  }
}

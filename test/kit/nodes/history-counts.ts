import { sightings } from './check-history.ts'
import type { Entry } from './history.ts'
import { indexHistory, isDone } from './history-index.ts'

/** What the checks had to compare. */
export function countChecked(entries: readonly Entry[]): Record<string, number> {
  const history = indexHistory(entries)
  const { of, acknowledged, mayRead } = history
  const distinct = (values: Iterable<string>) => new Set(values).size
  const [lists, reads] = [of('list').filter(isDone), of('read').filter(isDone)]
  const competed = Map.groupBy(
    of('create').filter(({ result }) => result !== 'unknown'),
    ({ address }) => address,
  )
  return {
    'acknowledged mails': acknowledged.length,
    'polls of a mailbox': lists.filter(({ holder, session }) => holder === session).length,
    'polls right after a 250': lists.filter(({ client }) => client.startsWith('sender')).length,
    'mails read': reads.filter(({ holder, session }) => mayRead(holder, session)).length,
    deletions: of('delete').filter(isDone).length,
    'foreign attempts refused': [...of('list'), ...of('read'), ...of('delete')].filter(
      ({ result, holder, session }) => result === 'refused' && !mayRead(holder, session),
    ).length,
    'addresses with several applicants': [...competed.values()].filter(
      (all) => all.length > 1 && all.some(isDone),
    ).length,
    'requests with keys': of('request').filter(isDone).length,
    'plans used up': distinct(
      of('request').flatMap(({ key, result }) => (result === 'refused' ? [key] : [])),
    ),
    'mails delivered to webhooks': distinct(
      of('delivery').flatMap((one) => (isDone(one) ? [`${one.webhook} ${one.mail}`] : [])),
    ),
    'leases held': distinct(
      sightings(history).flatMap(({ client, name, holder }) =>
        client === 'watcher' ? [`${name} ${holder}`] : [],
      ),
    ),
  }
}

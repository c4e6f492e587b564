import type { Entry, EntryOf } from './history.ts'
import { type Indexed, indexHistory, isDone } from './history-index.ts'

export type Rule =
  | 'lost'
  | 'late'
  | 'never looked for'
  | 'doubled'
  | 'changed'
  | 'back after its deletion'
  | 'two owners'
  | 'session lost'
  | 'foreign'
  | 'never attacked'
  | 'over the plan'
  | 'under the plan'
  | 'not delivered'
  | 'delivered out of order'
  | 'two holders'

export interface Violation {
  rule: Rule
  /** What it is about: a mail, an address, a key, a webhook, a lease. */
  subject: string
  detail: string
}

const SHORTEST_TERM_MS = 3_000
/** How long after its suspension a server may act under a lease that it has lost: its timers are due at once. */
const AFTER_SUSPENSION_MS = 3_000

/** Everything that a history proves to be wrong; one violation per rule and subject. */
export function checkHistory(entries: readonly Entry[]): Violation[] {
  const history = indexHistory(entries)
  const found = [
    ...checkMails(history),
    ...checkOwners(history),
    ...checkAccess(history),
    ...checkPlans(history),
    ...checkDeliveries(history),
    ...checkLeases(history),
  ]
  return [...new Map(found.map((one) => [`${one.rule} ${one.subject}`, one])).values()]
}

/** Whether the webhooks have got everything so far. */
export function isDelivered(entries: readonly Entry[]): boolean {
  const found = Iterator.from(checkDeliveries(indexHistory(entries)))
  return !found.some(({ rule }) => rule === 'not delivered')
}

/** Mail acknowledged with 250 is in every list that starts later, once and unchanged, until it is deleted. */
function* checkMails(history: Indexed): Iterable<Violation> {
  const lists = Map.groupBy(
    history
      .of('list')
      .filter(({ session, holder, result }) => holder === session && result === 'done'),
    ({ session }) => session,
  )
  for (const send of history.acknowledged) {
    const { mail } = send
    const later = (lists.get(send.session) ?? []).filter(({ start }) => start > send.end)
    if (later.length === 0)
      yield { rule: 'never looked for', subject: mail, detail: `sent at ${describe(send)}` }
    const has = ({ mails }: EntryOf<'list'>) => mails.some((one) => one.mail === mail)
    for (const list of later) {
      if (has(list) || history.mayBeDeleted(mail, list.end)) continue
      const isThereLater = later.some((one) => one.start > list.start && has(one))
      const detail = `250 from ${describe(send)}, not in the list of ${describe(list)}`
      yield { rule: isThereLater ? 'late' : 'lost', subject: mail, detail }
    }
  }
  yield* checkReads(history)
  for (const ofSession of lists.values()) yield* checkListed(history, ofSession)
}

function* checkReads(history: Indexed): Iterable<Violation> {
  for (const read of history.of('read')) {
    const send = history.sends.get(read.mail)
    if (!send || !history.mayRead(read.holder, read.session)) continue
    const detail = `250 from ${describe(send)}, read at ${describe(read)}`
    const isChanged = read.result === 'done' && read.sha256 !== send.sha256
    if (isChanged) yield { rule: 'changed', subject: read.mail, detail }
    const isDue = send.result === 'done' && send.end < read.start
    if (isDue && read.result === 'refused' && !history.mayBeDeleted(read.mail, read.end))
      yield { rule: 'lost', subject: read.mail, detail: `${detail}: refused` }
  }
}

function* checkListed(history: Indexed, lists: readonly EntryOf<'list'>[]): Iterable<Violation> {
  const ids = new Map<string, number>()
  for (const list of lists) {
    const detail = `in the list of ${describe(list)}`
    const mails = list.mails.map(({ mail }) => mail)
    for (const [at, { id, mail }] of list.mails.entries()) {
      const isTwice = mails.indexOf(mail) !== at || (ids.get(mail) ?? id) !== id
      if (isTwice) yield { rule: 'doubled', subject: mail, detail }
      ids.set(mail, id)
      if (history.isDeleted(mail, list.start))
        yield { rule: 'back after its deletion', subject: mail, detail }
    }
  }
}

/** Nobody ends a session in a history: an address has one owner, whose token stays valid, and takes mail. */
function* checkOwners(history: Indexed): Iterable<Violation> {
  const created = history.of('create').filter(({ result }) => result === 'done')
  for (const [address, owners] of Map.groupBy(created, (create) => create.address)) {
    const detail = owners.map(describe).join(' and ')
    if (owners.length > 1) yield { rule: 'two owners', subject: address, detail }
  }
  const uses = [
    ...history.of('list').filter(({ holder, session }) => holder === session),
    ...history.of('send'),
  ]
  for (const use of uses) {
    const create = history.sessions.get(use.session)
    const isValid = create?.result === 'done' && create.end < use.start
    if (isValid && use.result === 'refused')
      yield { rule: 'session lost', subject: use.session, detail: describe(use) }
  }
}

/** Nobody sees or deletes mail of a session that is not theirs. */
function* checkAccess(history: Indexed): Iterable<Violation> {
  function* shown(holder: string, mails: readonly string[], at: Entry): Iterable<Violation> {
    for (const mail of mails) {
      const session = history.sends.get(mail)?.session
      if (session === undefined || !history.mayRead(holder, session))
        yield { rule: 'foreign', subject: mail, detail: `shown to ${holder} by ${describe(at)}` }
    }
  }
  for (const list of history.of('list')) {
    const mails = list.mails.map(({ mail }) => mail)
    yield* shown(list.holder, mails, list)
    if (list.result === 'done' && !history.mayRead(list.holder, list.session))
      yield { rule: 'foreign', subject: list.session, detail: describe(list) }
  }
  for (const entry of [...history.of('read'), ...history.of('delete')])
    if (entry.result === 'done') yield* shown(entry.holder, [entry.mail], entry)
  for (const request of history.of('request')) yield* shown(request.key, request.mails, request)
  const keys = new Map(history.of('subscribe').map(({ webhook, key }) => [webhook, key]))
  for (const delivery of history.of('delivery'))
    yield* shown(keys.get(delivery.webhook) ?? '', [delivery.mail], delivery)
  yield* checkAttacks(history)
}

/** Each node that lists mail has refused mail to a foreign token and to a foreign key: otherwise nothing is proved. */
function* checkAttacks(history: Indexed): Iterable<Violation> {
  const keys = new Set(history.of('issue').map(({ key }) => key))
  const refused = history
    .of('read')
    .filter(({ result, holder, session }) => {
      return result === 'refused' && !history.mayRead(holder, session)
    })
    .map(({ node, holder }) => `${node} ${keys.has(holder) ? 'key' : 'token'}`)
  for (const node of new Set(
    history
      .of('list')
      .filter(isDone)
      .map((list) => list.node),
  ))
    for (const credentials of ['token', 'key'])
      if (!refused.includes(`${node} ${credentials}`))
        yield { rule: 'never attacked', subject: node, detail: `with a foreign ${credentials}` }
}

/** A key is served as many requests as its plan has, and loses at most those without a response. */
function* checkPlans(history: Indexed): Iterable<Violation> {
  const webhooks = Map.groupBy(history.of('subscribe'), ({ key }) => key)
  const requests = Map.groupBy(history.of('request'), ({ key }) => key)
  const deliveries = Map.groupBy(history.of('delivery'), ({ webhook }) => webhook)
  for (const { key, requests: limit } of history.of('issue')) {
    const own = requests.get(key) ?? []
    const served = own.filter(({ result }) => result === 'done').length
    // A message is charged once per webhook, however often it is delivered.
    const charged = (webhooks.get(key) ?? []).reduce((sum, { webhook }) => {
      return sum + new Set((deliveries.get(webhook) ?? []).map(({ id }) => id)).size
    }, served)
    if (charged > limit)
      yield { rule: 'over the plan', subject: key, detail: `${charged} of ${limit}` }
    const refused = own.find(({ result }) => result === 'refused')
    if (!refused || webhooks.has(key)) continue
    const before = own.filter(({ result, start }) => result !== 'refused' && start < refused.end)
    const detail = `refused after ${before.length} of ${limit}, ${describe(refused)}`
    if (before.length < limit) yield { rule: 'under the plan', subject: key, detail }
  }
}

/** Each message that a key may see is delivered at least once, before any later one is attempted. */
function* checkDeliveries(history: Indexed): Iterable<Violation> {
  const deliveries = Map.groupBy(history.of('delivery'), ({ webhook }) => webhook)
  const ids = new Map(
    history.of('list').flatMap(({ mails }) => mails.map(({ id, mail }) => [mail, id] as const)),
  )
  for (const subscribe of history.of('subscribe')) {
    if (subscribe.result !== 'done') continue
    const own = (deliveries.get(subscribe.webhook) ?? []).toSorted((a, b) => a.start - b.start)
    const received = new Set(own.filter(isDone).map(({ mail }) => mail))
    // A mail may be stored without a reply.
    const stored = [...history.sends.values()].filter(
      ({ mail, result }) => result === 'done' || ids.has(mail),
    )
    for (const send of stored) {
      const isDue =
        send.start > subscribe.end && history.sessions.get(send.session)?.key === subscribe.key
      if (!isDue || received.has(send.mail)) continue
      // It may be skipped if it was deleted before its turn.
      const next = own.find(({ id }) => id > (ids.get(send.mail) ?? Infinity))
      if (!history.mayBeDeleted(send.mail, next?.start ?? Infinity))
        yield {
          rule: 'not delivered',
          subject: send.mail,
          detail: `to ${subscribe.webhook}; 250 from ${describe(send)}`,
        }
    }
    yield* checkOrder(own)
  }
}

function* checkOrder(deliveries: readonly EntryOf<'delivery'>[]): Iterable<Violation> {
  const delivered = new Set<number>()
  let last = 0
  for (const delivery of deliveries) {
    const { id, mail: subject, webhook } = delivery
    const detail = `${id} after ${last} to ${webhook}, ${describe(delivery)}`
    if (!delivered.has(id) && id < last) yield { rule: 'delivered out of order', subject, detail }
    if (isDone(delivery)) delivered.add(id)
    last = Math.max(last, id)
  }
}

/** Who was seen with a lease, apart from those who could not know that they had lost it. */
export function sightings(history: Indexed): EntryOf<'lease'>[] {
  const suspensions = history.of('suspend')
  const isSuspect = ({ node, start, end }: Entry) =>
    suspensions.some(
      (one) => one.node === node && start < one.end + AFTER_SUSPENSION_MS && end > one.start,
    )
  return history.of('lease').filter((one) => !isSuspect(one))
}

/** From the first to the last time that it was seen, a holder has a lease alone. */
function* checkLeases(history: Indexed): Iterable<Violation> {
  for (const [name, ofName] of Map.groupBy(sightings(history), (one) => one.name)) {
    const terms = [...Map.groupBy(ofName, ({ holder }) => holder)].map(([holder, seen]) => ({
      holder,
      start: Math.min(...seen.map(({ start }) => start)),
      end: Math.max(...seen.map(({ end }) => end)),
    }))
    yield* checkTurns(name, ofName)
    let previous = { holder: '', start: -Infinity, end: -Infinity }
    for (const term of terms.toSorted((a, b) => a.start - b.start)) {
      if (term.start < previous.end) {
        const detail = `${previous.holder} until ${previous.end}, ${term.holder} from ${term.start}`
        yield { rule: 'two holders', subject: name, detail }
      }
      if (term.end > previous.end) previous = term
    }
  }
}

/** Nodes that work in turns have no lease: it takes longer to move. A single return may be a request that was resent after a partition. */
function* checkTurns(name: string, sightings: readonly EntryOf<'lease'>[]): Iterable<Violation> {
  let [last, before]: (Entry | undefined)[] = []
  let returns = 0
  for (const one of sightings.toSorted((a, b) => a.start - b.start)) {
    if (last && last.node !== one.node) {
      const isReturn = before?.node === one.node && one.start - before.end < SHORTEST_TERM_MS
      returns = isReturn ? returns + 1 : 0
      const detail = `${describe(last)}, then ${describe(one)}`
      if (returns > 1) yield { rule: 'two holders', subject: name, detail }
      before = last
    }
    last = one
  }
}

function describe({ client, node, start, end }: Entry): string {
  return `${node} for ${client}, ${Math.round(start)} to ${Math.round(end)} ms`
}

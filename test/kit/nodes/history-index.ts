import type { Entry, EntryOf } from './history.ts'

export type Indexed = ReturnType<typeof indexHistory>

/** A history by what it is about. */
export function indexHistory(entries: readonly Entry[]) {
  const of = <Kind extends Entry['kind']>(kind: Kind) =>
    entries.filter((entry): entry is EntryOf<Kind> => entry.kind === kind)
  const sends = new Map(of('send').map((send) => [send.mail, send]))
  const sessions = new Map(of('create').map((create) => [create.session, create]))
  /** Whether this holder may see the mails of a session. */
  const mayRead = (holder: string, session: string) =>
    holder === session || holder === sessions.get(session)?.key
  // What a stranger deletes is lost.
  const deletes = Map.groupBy(
    of('delete').filter(
      ({ result, holder, session }) => result !== 'refused' && mayRead(holder, session),
    ),
    ({ mail }) => mail,
  )
  return {
    of,
    mayRead,
    sends,
    sessions,
    acknowledged: [...sends.values()].filter(({ result }) => result === 'done'),
    /** Whether the mail may have been deleted by this time. */
    mayBeDeleted: (mail: string, before: number) =>
      (deletes.get(mail) ?? []).some(({ start }) => start < before),
    isDeleted: (mail: string, before: number) =>
      (deletes.get(mail) ?? []).some(({ result, end }) => result === 'done' && end < before),
  }
}

export const isDone = ({ result }: Entry) => result === 'done'

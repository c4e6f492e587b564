import type { ImapSession } from './connection.ts'
import { ImapFault } from './fault.ts'
import { type Head, type Opening, openingOf } from './message-headers.ts'

// RFC822.SIZE is an estimate at some servers. What is missing beyond this was cut off.
const SHORT_BY = 0.1
const SHORT_BY_BYTES = 100

/** The whole mail that belongs to this head; undefined when it is gone. Never another mail's body, nor half of one. */
export async function fetchBody(
  session: ImapSession,
  head: Head,
  withinMs: number,
): Promise<Uint8Array | undefined> {
  const { uid } = head
  const answers = await session.ask(
    (client) => client.fetchAll(String(uid), { uid: true, source: true }, { uid: true }),
    withinMs,
  )
  const sources = answers.filter(({ source }) => source !== undefined)
  if (sources.some((answer) => answer.uid !== uid) || sources.length > 1) {
    throw new ImapFault('doubtful', 'the server sends another mail than the one asked for')
  }
  const source = sources[0]?.source
  if (source) return checked(source, head)
  if ((await session.search({ uid: String(uid) })).length === 0) return undefined
  throw new ImapFault('doubtful', 'the server does not show a mail that it has')
}

function checked(source: Buffer, { size, opening }: Head): Uint8Array {
  if (source.length < size * (1 - SHORT_BY) - SHORT_BY_BYTES) {
    throw new ImapFault('doubtful', 'the server sends only part of a mail')
  }
  if (!agree(openingOf(source), opening)) {
    throw new ImapFault('doubtful', 'the server sends a body that is not this mail’s')
  }
  return source
}

/** A header beyond all measure is read in part; as far as both were read they must be the same. */
function agree(own: Opening, asked: Opening): boolean {
  const [shorter, longer] = own.fields.length < asked.fields.length ? [own, asked] : [asked, own]
  if (shorter.fields.length < longer.fields.length && !shorter.cut) return false
  if (longer.fields.length === 0) return false
  return shorter.fields.every((field, at) => {
    const other = longer.fields[at] ?? ''
    if (field === other) return true
    return (
      (isBeginning(shorter, at) && other.startsWith(field)) ||
      (isBeginning(longer, at) && field.startsWith(other))
    )
  })
}

/** Whether only the beginning of this field may have been read. */
function isBeginning({ fields, cut }: Opening, at: number): boolean {
  return cut && at === fields.length - 1
}

import type { AttachmentNote, PartPosition } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { decodeInSteps } from '../../mime/decode.ts'
import type { MailStore } from '../../store/store.ts'
import type { LargeRead, LargeReads } from './large-reads.ts'
import {
  type FindMailDeps,
  findMessage,
  type MailQuery,
  messageNotFound,
  parsedOf,
  type ReadMailDeps,
} from './read-mail.ts'

export interface AttachmentDeps extends FindMailDeps, Pick<ReadMailDeps, 'parsed'> {
  attachments: AttachmentReader
}

/** Reads attachments out of raw mails. */
interface AttachmentReader {
  read(rawId: number, position: PartPosition, request: LargeRead): Promise<Uint8Array>
}

/** Requests for the same attachment share one run. */
export function openAttachments({
  store,
  largeReads,
}: {
  store: Pick<MailStore, 'readRaw'>
  largeReads: LargeReads
}): AttachmentReader {
  async function read(rawId: number, { start, end, encoding }: PartPosition): Promise<Uint8Array> {
    const raw = await store.readRaw(rawId)
    if (!raw) throw messageNotFound()
    const { buffer, byteOffset, length } = raw.bytes
    const body = Buffer.from(buffer, byteOffset, length).subarray(start, end)
    return await decodeInSteps(body, encoding)
  }

  return {
    read: (rawId, position, request) =>
      largeReads.run(`part ${rawId} ${position.start}`, request, () => read(rawId, position)),
  }
}

/** One attachment, by its index in readMail. Its place in the raw mail is known from the parse: nothing is parsed again. */
export async function readAttachment(
  deps: AttachmentDeps,
  query: MailQuery & { index: number },
): Promise<{ note: AttachmentNote; bytes: Uint8Array }> {
  const message = await findMessage(deps, query.token, query.id)
  const mail = await parsedOf(deps, message, query)
  const note = mail.attachments[query.index]
  if (!note?.position) {
    throw new Problem('not_found', 'index: this message has no such attachment.')
  }
  const { client, signal } = query
  const { rawId, recipient: mailbox, size } = message
  const request = { client, mailbox, size, signal }
  const bytes = await deps.attachments.read(rawId, note.position, request)
  return { note, bytes }
}

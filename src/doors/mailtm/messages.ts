import { Problem } from '../../base/problem.ts'
import type { Message } from '../../mail/rules/message.ts'
import type { Session } from '../../mail/rules/session.ts'
import type { AttachmentInfo, Mail } from '../../shared/mail.ts'
import { hexId, timeText } from './formats.ts'

/** A message in a list. Its Message-ID is known only to those who read it. */
export function listedMessage(message: Message, session: Session, seen: boolean) {
  const id = hexId(message.id)
  const at = timeText(message.receivedAt)
  return {
    id,
    msgid: '',
    from: { address: message.senderEmail, name: message.senderName },
    to: [{ address: session.address, name: '' }],
    subject: message.subject,
    intro: message.preview ?? '',
    seen,
    isDeleted: false,
    hasAttachments: (message.attachments ?? 0) > 0,
    size: message.size,
    downloadUrl: `/messages/${id}/download`,
    sourceUrl: `/sources/${id}`,
    createdAt: at,
    updatedAt: at,
    accountId: `/accounts/${hexId(session.id)}`,
  }
}

interface Read {
  session: Session
  seen: boolean
  mail: Mail
}

export function wholeMessage(message: Message, { session, seen, mail }: Read) {
  const listed = listedMessage(message, session, seen)
  return {
    ...listed,
    msgid: mail.messageId === null ? '' : `<${mail.messageId}>`,
    to: mail.to.length > 0 ? mail.to.map(({ name, address }) => ({ address, name })) : listed.to,
    cc: mail.cc.map(({ name, address }) => ({ address, name })),
    bcc: [],
    hasAttachments: mail.attachments.length > 0,
    flagged: false,
    verifications: [],
    retention: true,
    retentionDate: timeText(session.expiresAt),
    text: mail.text ?? '',
    html: mail.html === null ? [] : [mail.html],
    attachments: mail.attachments.map((info) => attachmentJson(info, listed.id)),
  }
}

function attachmentJson(info: AttachmentInfo, message: string) {
  const id = `ATTACH${String(info.index + 1).padStart(6, '0')}`
  return {
    id,
    filename: info.filename,
    contentType: info.contentType,
    disposition: info.inline ? 'inline' : 'attachment',
    transferEncoding: info.position.encoding,
    related: info.contentId !== null,
    size: info.size,
    downloadUrl: `/messages/${message}/attachment/${id}`,
  }
}

/** Throws `not_found`. */
export function attachmentIndex(id: string): number {
  const [, number] = /^ATTACH(\d{6})$/.exec(id) ?? []
  if (number !== undefined && Number(number) > 0) return Number(number) - 1
  throw new Problem('not_found', 'Not found.')
}

import type { Correspondent, Mail } from '../core/message.ts'
import { findCodes, MAX_TEXT } from './codes.ts'
import { linesFromHtml } from './html-lines.ts'
import { findLinks } from './links.ts'
import { linesFromText } from './text-lines.ts'

/** The parts of a mail in which codes and links are looked for. */
interface Searched {
  sender: Correspondent | undefined
  subject: string
  otpToken: string
  listUnsubscribe: string
  /** What came as text; empty where only HTML did. */
  plain: string
  html: string | null
}

/** What most readers came for: the code to type in, the link to follow. */
export function findings(searched: Searched): Pick<Mail, 'codes' | 'links'> {
  const shown = [linesFromText(searched.plain.slice(0, MAX_TEXT))]
  // First, because there links have names.
  if (searched.html) shown.unshift(linesFromHtml(searched.html.slice(0, MAX_TEXT)))
  const { sender, subject, otpToken, listUnsubscribe } = searched
  return {
    codes: findCodes({
      senderName: sender?.name ?? '',
      senderHost: sender?.address.split('@').at(-1) ?? '',
      subject,
      otpToken,
      texts: shown.map(({ text }) => text),
    }),
    links: findLinks(shown, listUnsubscribe),
  }
}

// Limits: the first 200,000 characters of the text and of the HTML; what attachments say is not read.

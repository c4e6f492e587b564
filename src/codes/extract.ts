import type { Mail, NamedAddress } from '../shared/mail.ts'
import { findCodes, MAX_TEXT_LENGTH } from './codes.ts'
import { withoutEmbeddedData } from './html-tokens.ts'
import { languagesOf } from './languages.ts'
import { findLinks } from './links.ts'
import { visibleTextOfHtml, visibleTextOfPlain } from './visible-text.ts'

interface MailContent {
  sender: NamedAddress | undefined
  subject: string
  otpToken: string
  listUnsubscribe: string
  /** The plain text body, '' if there is only HTML. */
  plain: string
  html: string | null
}

export function findCodesAndLinks(content: MailContent): Pick<Mail, 'codes' | 'links'> {
  const visible = [visibleTextOfPlain(content.plain.slice(0, MAX_TEXT_LENGTH))]
  // First, because links in HTML have a text.
  if (content.html) {
    const html = withoutEmbeddedData(content.html).slice(0, MAX_TEXT_LENGTH)
    visible.unshift(visibleTextOfHtml(html))
  }
  const { sender, subject, otpToken, listUnsubscribe } = content
  const texts = visible.map(({ text }) => text)
  const languages = languagesOf([subject, ...texts])
  return {
    codes: findCodes({
      senderName: sender?.name ?? '',
      senderAddress: sender?.address ?? '',
      subject,
      otpToken,
      texts,
      largeTexts: visible.flatMap(({ large }) => large),
      languages,
    }),
    links: findLinks(visible, listUnsubscribe, languages),
  }
}

// Limits: the first 200,000 characters of the text, and of the HTML without embedded images; attachments are not searched.

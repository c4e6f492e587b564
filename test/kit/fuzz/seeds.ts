import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseMail } from '../../../src/mime/parse.ts'
import { corpus } from '../mail/corpora.ts'
import { PAYLOADS } from '../page/hostile-html.ts'
import { HOSTILE_MAILS, hostileMail, htmlMail } from '../page/hostile-mails.ts'

export const bytesOf = (texts: Iterable<string>): Buffer[] =>
  Array.from(texts, (text) => Buffer.from(text))

/** Many mails have no subject, or no HTML. */
const bytesOfSome = (texts: Iterable<string>): Buffer[] =>
  bytesOf(new Set(texts)).filter(({ length }) => length > 0)

export const JSON_TOKENS = ['"', ',', ':', '{', '}', '[', ']', 'null', 'true']

const FIXTURES = fileURLToPath(new URL('../../../src/mime/fixtures', import.meta.url))

/** Mails of the corpora and of our own tests. */
function realMails(): Buffer[] {
  const folders = [corpus('stalwart'), corpus('postal-mime'), FIXTURES]
  return folders.flatMap((cwd) =>
    globSync('**/*.eml', { cwd })
      .sort()
      .map((name) => readFileSync(`${cwd}/${name}`)),
  )
}

/** These, and hostile ones. */
export function mailSeeds(): Buffer[] {
  const hostile = Object.keys(HOSTILE_MAILS).map((name, at) => hostileMail(name, at))
  return [
    ...realMails(),
    ...bytesOf(hostile),
    ...bytesOf(PAYLOADS.map((html) => htmlMail(html, 0))),
  ]
}

/** Subjects, texts and HTML of these mails. */
export function textSeeds(): Buffer[] {
  const texts = mailSeeds()
    .map((raw) => parseMail(raw))
    .flatMap(({ text, html, headers }) => [
      ...[text ?? '', html ?? ''],
      ...headers.filter(({ name }) => /^subject$/i.test(name)).map(({ value }) => value),
    ])
  return bytesOfSome(texts)
}

/** Hostile HTML, and that of real mails. */
export function htmlSeeds(): Buffer[] {
  return bytesOfSome([...PAYLOADS, ...realMails().map((raw) => parseMail(raw).html ?? '')])
}

/** Single header fields of these mails. */
export function headerSeeds(): Buffer[] {
  const fields = mailSeeds().flatMap((mail) => {
    const [head = ''] = mail.toString('latin1').split(/\r?\n\r?\n/, 1)
    return head.split(/\r?\n(?![ \t])/)
  })
  return [...new Set(fields)].filter(Boolean).map((field) => Buffer.from(field, 'latin1'))
}

export const MAIL_TOKENS: readonly string[] = (
  '\r\n|\r\n\r\n|\n|\r|\r\n |--|--edge|--edge--|;|"|\\|<|>|From: |To: |Subject: |Date: |Cc: |Reply-To: |Message-ID: <a@b>|' +
  'Content-Type: |multipart/mixed; boundary=edge|multipart/alternative; boundary="edge"|text/html; charset=utf-7|' +
  'text/plain; format=flowed; delsp=yes|message/rfc822|charset=iso-2022-jp|charset=hz|charset=utf-16|charset=gb18030|' +
  'charset=x-none|Content-Transfer-Encoding: base64|Content-Transfer-Encoding: quoted-printable|' +
  'Content-Disposition: attachment; filename="../../a"|filename*0*=utf-8\'\'%2e|filename*1=b|Content-ID: <x>|' +
  '=?utf-8?B?w6TDtg==?=|=?utf-8?Q?=C3=A4?=|=?|?=|?Q?|=3D|=\r\n|@|,|:|(|)|a@b.test|<a@b.test>|"a" <a@b.test>|g: a@b.test;|' +
  '__proto__|\0|\ufeff|\u202e|\u2028|\ud7ff|\x1b$B|\x1b(B|~{|~}|+AGE-|%00'
).split('|')

import fc from 'fast-check'
import MailComposer from 'nodemailer/lib/mail-composer/index.js'
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { scanned } from '../../test/kit/mail/scan.ts'
import { readHead } from './header-summary.ts'
import { parseMail } from './parse.ts'
import { attachmentBytes } from './testing/attachment.ts'

// Random mail composed by nodemailer, parsed by us and by postal-mime.

const word = fc.stringMatching(/^[a-zäßéжя日本語😀][a-z0-9äßéжя日本語😀'-]{0,8}$/u)
const line = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '))
// Longer names of files are cut.
const short = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '))
const lines = fc.array(line, { minLength: 1, maxLength: 5 }).map((all) => `${all.join('\n')}\n`)
const file = fc.record({
  filename: fc.tuple(short, fc.constantFrom('pdf', 'png', 'txt')).map((name) => name.join('.')),
  content: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  cid: fc.option(fc.constant('picture@mayfly.test'), { nil: undefined }),
})
const letter = fc.record({
  from: fc.record({ name: line, address: fc.constant('ann@mayfly.test') }),
  to: fc.array(fc.record({ name: line, address: fc.constant('bob@mayfly.test') }), {
    minLength: 1,
    maxLength: 3,
  }),
  subject: line,
  text: fc.option(lines, { nil: undefined }),
  html: fc.option(
    lines.map((text) => `<p>${text}</p>`),
    { nil: undefined },
  ),
  textEncoding: fc.constantFrom('quoted-printable' as const, 'base64' as const),
  attachments: fc.array(file, { maxLength: 3 }),
})

test('mail composed by nodemailer is parsed exactly, and as by postal-mime', async () => {
  await fc.assert(
    fc.asyncProperty(letter, async (spec) => {
      const raw = await new MailComposer({ ...spec, date: new Date(0) }).compile().build()
      const ours = parseMail(raw)
      const theirs = await PostalMime.parse(raw)

      expect(readHead(scanned(raw), '')).toEqual({
        senderName: spec.from.name,
        senderEmail: spec.from.address,
        subject: spec.subject,
      })
      expect(ours.to).toEqual(spec.to)
      expect(ours.date).toBe('1970-01-01T00:00:00.000Z')
      expect(ours.messageId).toBe(theirs.messageId?.slice(1, -1))
      if (spec.text !== undefined) expect(ours.text?.trim()).toBe(spec.text.trim())
      expect(ours.html?.trim()).toBe(spec.html?.trim())
      expect(ours.html?.trim()).toBe(theirs.html?.trim())
      expect(ours.attachments.map(({ size }) => size).sort()).toEqual(
        spec.attachments.map(({ content }) => content.length).sort(),
      )
      for (const [at, { content, filename }] of theirs.attachments.entries()) {
        const bytes = attachmentBytes(raw, ours, at)
        expect(Buffer.from(bytes ?? '')).toEqual(Buffer.from(content as ArrayBuffer))
        expect(ours.attachments[at]?.filename).toBe(filename)
      }
    }),
    { numRuns: process.env['MAYFLY_TEST_LONG'] ? 2_000 : 150 },
  )
})

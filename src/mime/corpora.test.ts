import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { corpus } from '../../test/support/corpora.ts'
import { readHead } from './head.ts'
import { parseMail } from './parse.ts'
import { KNOWN_DIFFERENCES } from './testing/known-differences.ts'
import { type Expectation, readExpectation } from './testing/stalwart.ts'

const CASES = { stalwart: 107, 'postal-mime': 5 }
const stalwart = corpus('stalwart', CASES.stalwart)
const postalMime = corpus('postal-mime', CASES['postal-mime'])

describe('of the mails of others', () => {
  for (const [origin, folder, count] of [
    ['Stalwart', stalwart, CASES.stalwart],
    ['postal-mime', postalMime, CASES['postal-mime']],
  ] as const) {
    test.skipIf(!folder)(`all ${count} of ${origin} are read, and as plain JSON`, () => {
      const files = globSync(`${folder}/**/*.eml`)
      expect(files).toHaveLength(count)
      for (const file of files) {
        const mail = parseMail(readFileSync(file))
        expect(JSON.parse(JSON.stringify(mail)), file).toEqual(mail)
        expect(mail.text, file).not.toBeNull()
      }
    })
  }

  test.skipIf(!stalwart)('Stalwart’s authors read all as we do, but for what is explained', () => {
    const counted = new Map<string, number>()
    const differing = new Set<string>()
    for (const file of globSync(`${stalwart}/*/*.eml`).sort()) {
      const mail = file.slice(`${stalwart}/`.length, -'.eml'.length)
      for (const [field, agrees] of compare(file)) {
        counted.set(field, (counted.get(field) ?? 0) + (agrees ? 1 : 0))
        if (!agrees) differing.add(`${mail} ${field}`)
      }
    }
    const explained = KNOWN_DIFFERENCES.flatMap(({ mails, fields }) =>
      mails.flatMap((mail) => fields.map((field) => `${mail} ${field}`)),
    )
    const figures = [...counted].map(([field, count]) => `${field} ${count}`).join(', ')
    process.stdout.write(
      `of 214 parses (107 mails, lines ended by LF and by CRLF) agree: ${figures}; ` +
        `differences explained: ${explained.length}\n`,
    )
    expect([...differing].sort()).toEqual(explained.sort())
  })
})

function* compare(file: string): Generator<[string, boolean]> {
  const text = readFileSync(file, 'latin1').replaceAll('\r\n', '\n')
  const stem = file.slice(0, -'.eml'.length)
  yield* fieldsAgree(Buffer.from(text, 'latin1'), `${stem}.json`)
  yield* fieldsAgree(Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1'), `${stem}.crlf.json`)
}

function* fieldsAgree(raw: Buffer, json: string): Generator<[string, boolean]> {
  const theirs = readExpectation(readFileSync(json, 'utf8'))
  const ours = parseMail(raw)
  yield ['subject', squeeze(readHead(raw, '').subject) === squeeze(theirs.subject)]
  for (const field of ['from', 'to', 'cc', 'replyTo', 'date', 'messageId'] as const) {
    yield [field, JSON.stringify(ours[field]) === JSON.stringify(theirs[field])]
  }
  yield ['text', textAgrees(ours.text ?? '', theirs)]
  yield ['html', theirs.htmls.every((html) => squeeze(ours.html ?? '').includes(squeeze(html)))]
  const notes = ours.attachments
  yield ['count', notes.length === theirs.attachments.length]
  yield [
    'filenames',
    notes.map(({ filename }) => filename.replace(/^attachment-\d+\.\w+$/, '')).join('\n') ===
      theirs.attachments.map(({ filename }) => filename).join('\n') &&
      notes.length === theirs.attachments.length,
  ]
  yield [
    'sizes',
    notes.length === theirs.attachments.length &&
      theirs.attachments.every(({ size }, at) => size === null || size === notes[at]?.size),
  ]
}

function textAgrees(ours: string, { texts, textIsWhole }: Expectation): boolean {
  if (textIsWhole) return texts.length === 0 || squeeze(ours) === squeeze(texts.join(' '))
  return texts.every((text) => squeeze(ours).includes(squeeze(text)))
}

/** Blanks and line ends are the display's affair. */
function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

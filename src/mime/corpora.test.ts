import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { corpus } from '../../test/kit/mail/corpora.ts'
import { scanned } from '../../test/kit/mail/scan.ts'
import { readHead } from './header-summary.ts'
import { parseMail } from './parse.ts'
import { KNOWN_DIFFERENCES } from './testing/known-differences.ts'
import { type Expectation, readExpectation } from './testing/stalwart.ts'

const stalwart = corpus('stalwart')

describe('third-party mails', () => {
  for (const [name, atLeast] of [
    ['stalwart', 34],
    ['postal-mime', 5],
  ] as const) {
    test(`all of ${name} are parsed, to plain JSON`, () => {
      const files = globSync(`${corpus(name)}/**/*.eml`)
      expect(files.length).toBeGreaterThanOrEqual(atLeast)
      for (const file of files) {
        const mail = parseMail(readFileSync(file))
        expect(JSON.parse(JSON.stringify(mail)), file).toEqual(mail)
        expect(mail.text, file).not.toBeNull()
      }
    })
  }

  test('Stalwart’s parser agrees, except for known differences', () => {
    const counted = new Map<string, number>()
    const differing = new Set<string>()
    const compared = new Set<string>()
    for (const file of globSync(`${stalwart}/*/*.eml`).sort()) {
      const mail = file.slice(`${stalwart}/`.length, -'.eml'.length)
      compared.add(mail)
      for (const [field, agrees] of compare(file)) {
        counted.set(field, (counted.get(field) ?? 0) + (agrees ? 1 : 0))
        if (!agrees) differing.add(`${mail} ${field}`)
      }
    }
    const explained = KNOWN_DIFFERENCES.flatMap(({ mails, fields }) =>
      mails
        .filter((mail) => compared.has(mail))
        .flatMap((mail) => fields.map((field) => `${mail} ${field}`)),
    )
    const figures = [...counted].map(([field, count]) => `${field} ${count}`).join(', ')
    process.stdout.write(
      `${compared.size} mails, with LF and with CRLF; fields that agree: ${figures}; ` +
        `known differences: ${explained.length}\n`,
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
  yield [
    'subject',
    collapseSpace(readHead(scanned(raw), '').subject) === collapseSpace(theirs.subject),
  ]
  for (const field of ['from', 'to', 'cc', 'replyTo', 'date', 'messageId'] as const) {
    yield [field, JSON.stringify(ours[field]) === JSON.stringify(theirs[field])]
  }
  yield ['text', textAgrees(ours.text ?? '', theirs)]
  yield [
    'html',
    theirs.htmls.every((html) => collapseSpace(ours.html ?? '').includes(collapseSpace(html))),
  ]
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
  if (textIsWhole)
    return texts.length === 0 || collapseSpace(ours) === collapseSpace(texts.join(' '))
  return texts.every((text) => collapseSpace(ours).includes(collapseSpace(text)))
}

function collapseSpace(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findCodes } from './codes.ts'
import { languagesOf } from './languages.ts'

// What services call their codes, and other numbers, in each language: `fixtures/names.tsv`.

const rows = readFileSync(new URL('fixtures/names.tsv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')

const isCode = (text: string) =>
  findCodes({
    ...{ senderName: '', senderAddress: 'ann@a.test', subject: '', otpToken: '' },
    ...{ texts: [text], largeTexts: [], languages: languagesOf([text]) },
  }).length > 0

for (const row of rows.slice(1)) {
  const [language = '', sentence, codes = '', others = ''] = row.split('\t')
  describe(language, () => {
    test('names of codes are recognized', () => {
      const texts = codes
        .split('; ')
        .flatMap((name) => [`${sentence}\n\n${name}\n\n482913`, `${name} K7QX29`])
      expect(texts.filter((text) => !isCode(text))).toEqual([])
    })

    test('names of other numbers are told apart', () => {
      const texts = others.split('; ').map((name) => `${sentence}\n\n${name}: 482913`)
      expect(texts.filter(isCode)).toEqual([])
    })
  })
}

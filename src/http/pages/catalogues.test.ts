import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { LANGUAGES, type Language } from '../../shared/languages.ts'
import type { Translation } from '../../shared/translate.ts'
import { CATALOGUES } from './locale.ts'

type Catalogue = (typeof CATALOGUES)[Language]
type Name = keyof Catalogue

const { en, es, fr } = CATALOGUES
const NAMES = Object.keys(en) as Name[]
const LANGUAGE_NAMES = Object.keys(LANGUAGES) as Language[]

/** Texts that are the same in English. */
const SAME: Record<Exclude<Language, 'en'>, readonly string[]> = {
  es: ['API', 'Webhooks', 'Plan', 'No', 'Total', 'Cc', 'ID', '{time} ms'],
  pt: [
    'API',
    'Webhooks',
    'E-mail',
    'Site',
    'Total',
    'Cc',
    'Link',
    'Links',
    '{count} links',
    '{time} ms',
    'ID',
    'status {status}',
  ],
  de: [
    'API',
    'Webhooks',
    'System',
    'Name',
    'Domain',
    'Subdomain',
    'Domains',
    'Client',
    'Text',
    'Details',
    'Cc',
    'Link',
    'Links',
    '{time} ms',
    'ID',
    'Median',
    'Filter',
    'Codes',
    'Code {code}',
  ],
  fr: [
    ...[
      'API',
      'Webhooks',
      'Site',
      'Message',
      'Messages',
      'Sessions',
      'E-mail',
      'Source',
      'Client',
      'Active',
      'Total',
      'Cc',
      '{time} ms',
      'ID',
    ],
    '{count} messages',
    'Codes',
    'Code {code}',
    'Invitation',
  ],
  zh: ['API', 'ID', '{time} ms'],
  ar: ['API', '{time} ms'],
}

test('every text is used', () => {
  const sources = readSources()
  const patterns = [...sources.matchAll(/`(\w+_)\$\{[^}]+\}(\w*)`/g)].map(
    ([, begin, end]) => new RegExp(`^${begin}(.+)${end}$`),
  )
  // A part inserted into a name is a string literal or an object key somewhere.
  const isValue = (part = '') => new RegExp(`'${part}'|\\b${part}\\??:`).test(sources)
  const isUsed = (name: string) =>
    sources.includes(`'${name}'`) || patterns.some((pattern) => isValue(pattern.exec(name)?.[1]))
  expect(NAMES.filter((name) => !isUsed(name))).toStrictEqual([])
})

for (const language of LANGUAGE_NAMES) {
  const catalogue = CATALOGUES[language]
  const names = namesIn(catalogue)

  describe(language, () => {
    test('it has the same texts as English, in the same order', () => {
      expect(Object.keys(catalogue)).toStrictEqual(NAMES)
    })

    test('no text is empty or has space around it', () => {
      const wrong = names.filter((name) =>
        formsOf(catalogue[name]).some(([, text]) => text === '' || text !== text.trim()),
      )
      expect(wrong).toStrictEqual([])
    })

    test('a plural has every form of the language; `many` may be missing, and `one` be there for 1', () => {
      const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions()
      const required = pluralCategories.filter((form) => form !== 'many')
      const optional = ['many', 'one'].filter((form) => !required.some((one) => one === form))
      const wrong = names.filter((name) => {
        if (typeof catalogue[name] === 'string') return false
        const forms = Object.keys(catalogue[name]).filter((form) => !optional.includes(form))
        return String(forms.toSorted()) !== String(required.toSorted())
      })
      expect(wrong).toStrictEqual([])
    })

    test('each form has the placeholders of the English text', () => {
      const wrong = names.flatMap((name) => {
        const all = valuesOf(wholeOf(en[name]))
        const faulty = formsOf(catalogue[name]).filter(
          ([form, text]) => !hasValues(form, text, all),
        )
        return faulty.map(([form, text]) => `${name} (${form}): ${text}`)
      })
      expect(wrong).toStrictEqual([])
    })

    test('quotes, apostrophes and ellipses are typographic', () => {
      const wrong = names.filter((name) =>
        formsOf(catalogue[name]).some(([, text]) => /["'`]|\.\.\./.test(text)),
      )
      expect(wrong).toStrictEqual([])
    })
  })
}

for (const [language, same] of Object.entries(SAME)) {
  test(`nothing is untranslated: ${language}`, () => {
    const catalogue = CATALOGUES[language as Language]
    const left = namesIn(catalogue).filter((name) => {
      const text = wholeOf(catalogue[name])
      return text === wholeOf(en[name]) && !same.includes(text)
    })
    expect(left).toStrictEqual([])
  })
}

test('French punctuation has a non-breaking space', () => {
  const alone = namesIn(fr).filter((name) =>
    formsOf(fr[name]).some(([, text]) => / [:;?!»]|« |\p{L}[;?!»]|«\p{L}/u.test(text)),
  )
  expect(alone).toStrictEqual([])
})

test('Spanish questions have both marks', () => {
  const halves = namesIn(es).filter((name) =>
    formsOf(es[name]).some(([, text]) => text.includes('?') !== text.includes('¿')),
  )
  expect(halves).toStrictEqual([])
})

type Form = Intl.LDMLPluralRule

function readSources(): string {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const exclude = ['**/*.test.ts']
  const names = globSync(['web/**/*.{ts,tsx}', 'src/http/pages/**/*.ts', 'src/shared/*.ts'], {
    cwd: root,
    exclude,
  })
  return names.map((name) => readFileSync(`${root}${name}`, 'utf8')).join('\n')
}

/** Missing texts are reported once, by the test of the names. */
function namesIn(catalogue: Catalogue): Name[] {
  return NAMES.filter((name) => Object.hasOwn(catalogue, name))
}

function formsOf(message: Translation): [Form, string][] {
  return typeof message === 'string'
    ? [['other', message]]
    : (Object.entries(message) as [Form, string][])
}

/** The form that has all placeholders. */
function wholeOf(message: Translation): string {
  return typeof message === 'string' ? message : (message.other ?? '')
}

function valuesOf(text: string): string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, value = '']) => value).toSorted()
}

/** Zero, one and two may be spelt out. */
const SPELT_OUT: readonly Form[] = ['zero', 'one', 'two']

function hasValues(form: Form, text: string, all: readonly string[]): boolean {
  const values = valuesOf(text)
  const isSame = (wanted: readonly string[]) => String(values) === String(wanted)
  return (
    isSame(all) || (SPELT_OUT.includes(form) && isSame(all.filter((value) => value !== 'count')))
  )
}

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { LANGUAGES, type Language } from '../../src/shared/languages.ts'
import { type Catalogue, LANGUAGE_NAMES, type Translation } from '../site/i18n.ts'
import { ar } from './ar.ts'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { pt } from './pt.ts'
import { zh } from './zh.ts'

const CATALOGUES: Record<Language, Catalogue> = { en, es, pt, de, fr, zh, ar }
const NAMES = Object.keys(en) as (keyof Catalogue)[]

/** What other languages write as English does. */
const SAME: Record<Exclude<Language, 'en'>, readonly string[]> = {
  es: ['API', 'Plan', 'No', '{time} ms'],
  pt: ['API', 'Site', '{time} ms'],
  de: ['API', 'Name', 'Domain', 'Text', '{time} ms'],
  fr: ['API', 'Site', 'Message', 'Messages', 'Source', 'Active', '{time} ms'],
  zh: ['API', '{time} ms'],
  ar: ['API', '{time} ms'],
}

test('the page and the server know the same languages', () => {
  assert.deepEqual(Object.keys(LANGUAGE_NAMES).toSorted(), LANGUAGES.toSorted())
})

test('every sentence is said somewhere', () => {
  const page = sourcesOfPage()
  const built = [...page.matchAll(/`(\w+_)\$\{[^}]+\}(\w*)`/g)].map(
    ([, begin, end]) => new RegExp(`^${begin}(.+)${end}$`),
  )
  // What is put into a name is a value that is written somewhere, or the key of a table.
  const isValue = (part = '') => new RegExp(`'${part}'|\\b${part}\\??:`).test(page)
  const isSaid = (name: string) =>
    page.includes(`'${name}'`) ||
    built.some((form) => form.test(name) && isValue(form.exec(name)?.[1]))
  assert.deepEqual(
    NAMES.filter((name) => !isSaid(name)),
    [],
  )
})

for (const language of LANGUAGES) {
  const words = CATALOGUES[language]
  const names = namesIn(words)

  describe(language, () => {
    test('every sentence of the page is there, in the order of the English ones, and no other', () => {
      assert.deepEqual(Object.keys(words), NAMES)
    })

    test('no sentence is empty or has space around it', () => {
      const wrong = names.filter((name) =>
        formsOf(words[name]).some(([, text]) => text === '' || text !== text.trim()),
      )
      assert.deepEqual(wrong, [])
    })

    test('forms are those of the language, and one of them is for the rest', () => {
      const known = new Intl.PluralRules(language).resolvedOptions().pluralCategories
      const wrong = names.filter((name) => {
        const forms = formsOf(words[name]).map(([form]) => form)
        return !forms.includes('other') || forms.some((form) => !known.includes(form))
      })
      assert.deepEqual(wrong, [])
    })

    test('each form has the values of the English sentence', () => {
      const wrong = names.flatMap((name) => {
        const all = valuesOf(wholeOf(en[name]))
        const faulty = formsOf(words[name]).filter(([form, text]) => !hasValues(form, text, all))
        return faulty.map(([form, text]) => `${name} (${form}): ${text}`)
      })
      assert.deepEqual(wrong, [])
    })

    // Straight ones are what a keyboard has, not what the language has.
    test('quotes, apostrophes and three dots are typographic', () => {
      const wrong = names.filter((name) =>
        formsOf(words[name]).some(([, text]) => /["'`]|\.\.\./.test(text)),
      )
      assert.deepEqual(wrong, [])
    })
  })
}

for (const [language, same] of Object.entries(SAME)) {
  test(`nothing is left in English: ${language}`, () => {
    const words = CATALOGUES[language as Language]
    const left = namesIn(words).filter((name) => {
      const text = wholeOf(words[name])
      return text === wholeOf(en[name]) && !same.includes(text)
    })
    assert.deepEqual(left, [])
  })
}

test('in French no sign is left alone on a line', () => {
  const alone = namesIn(fr).filter((name) =>
    formsOf(fr[name]).some(([, text]) => / [:;?!»]|« |\p{L}[;?!»]|«\p{L}/u.test(text)),
  )
  assert.deepEqual(alone, [])
})

test('in Spanish a question is open on both sides', () => {
  const halves = namesIn(es).filter((name) =>
    formsOf(es[name]).some(([, text]) => text.includes('?') !== text.includes('¿')),
  )
  assert.deepEqual(halves, [])
})

type Form = Intl.LDMLPluralRule

function sourcesOfPage(): string {
  const web = fileURLToPath(new URL('..', import.meta.url))
  const exclude = ['dist*/**', 'words/**', '**/*.test.ts']
  const names = globSync('**/*.{ts,tsx}', { cwd: web, exclude })
  return names.map((name) => readFileSync(`${web}${name}`, 'utf8')).join('\n')
}

/** Those that are missing are told of once, by the test of the names. */
function namesIn(words: Catalogue): (keyof Catalogue)[] {
  return NAMES.filter((name) => Object.hasOwn(words, name))
}

function formsOf(message: Translation): [Form, string][] {
  return typeof message === 'string'
    ? [['other', message]]
    : (Object.entries(message) as [Form, string][])
}

/** The form for most counts: all values stand in it. */
function wholeOf(message: Translation): string {
  return typeof message === 'string' ? message : (message.other ?? '')
}

function valuesOf(text: string): string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, value = '']) => value).toSorted()
}

/** None, one and two may be said in words; all other numbers are shown. */
const SPOKEN: readonly Form[] = ['zero', 'one', 'two']

function hasValues(form: Form, text: string, all: readonly string[]): boolean {
  const values = valuesOf(text)
  const isSame = (wanted: readonly string[]) => String(values) === String(wanted)
  return isSame(all) || (SPOKEN.includes(form) && isSame(all.filter((value) => value !== 'count')))
}

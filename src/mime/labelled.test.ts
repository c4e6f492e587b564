import { describe, expect, test } from 'vitest'
import { type Labelled, readLabelled } from './testing/labelled.ts'

const MIN_PRECISION = 0.97
const MIN_RECALL = 0.95
const MIN_LINKS = 0.97
const SURE = 0.9

const mails = readLabelled()
const languages = [...new Set(mails.map(({ language }) => language))].sort()

describe('labelled mail', () => {
  test('is in ten languages, and a third of it contains no code', () => {
    expect(mails.length).toBeGreaterThanOrEqual(150)
    expect(languages).toEqual(['ar', 'de', 'en', 'es', 'fr', 'ja', 'pt', 'ru', 'vi', 'zh'])
    for (const language of languages) expect(of(language).length).toBeGreaterThanOrEqual(12)
    const without = mails.filter(({ code }) => code === undefined).length
    expect(without / mails.length).toBeGreaterThanOrEqual(1 / 3)
  })

  test('precision and recall of the first code are high', () => {
    const all = figures(mails)
    const lines = languages.map((language) => `${language} ${formatted(figures(of(language)))}`)
    process.stdout.write(`codes of ${mails.length} mails: ${formatted(all)}; ${lines.join(', ')}\n`)
    const wrong = mails.filter((one) => best(one) !== undefined && best(one) !== one.code)
    const missed = mails.filter((one) => one.code !== undefined && best(one) === undefined)
    const names = `wrong: ${namesOf(wrong)}; missed: ${namesOf(missed)}`
    expect(all.precision, names).toBeGreaterThanOrEqual(MIN_PRECISION)
    expect(all.recall, names).toBeGreaterThanOrEqual(MIN_RECALL)
  })

  test('codes with high confidence are right', () => {
    const given = mails.flatMap(({ mail, code }) =>
      mail.codes.map(({ value, confidence }) => ({ confidence, right: value === code })),
    )
    const share = (some: typeof given) => some.filter(({ right }) => right).length / some.length
    const sure = given.filter(({ confidence }) => confidence >= SURE)
    const unsure = given.filter(({ confidence }) => confidence < SURE)
    process.stdout.write(
      `codes given with ${SURE} and more: ${sure.length}, right ${share(sure).toFixed(3)}; ` +
        `with less: ${unsure.length}, right ${share(unsure).toFixed(3)}\n`,
    )
    expect(share(sure)).toBeGreaterThanOrEqual(MIN_PRECISION)
    expect(share(unsure)).toBeGreaterThanOrEqual(0.5)
  })

  test('link kinds match their labels', () => {
    const labels = mails.flatMap(({ name, mail, links }) =>
      links.map(({ kind, start }) => {
        const found = mail.links.filter(({ url }) => url.startsWith(start))
        const right = found.length > 0 && found.every((link) => link.kind === kind)
        return { label: `${name}: ${kind} ${start}`, right }
      }),
    )
    const wrong = labels.filter(({ right }) => !right).map(({ label }) => label)
    process.stdout.write(`links: ${labels.length - wrong.length} of ${labels.length} are right\n`)
    expect(labels.length).toBeGreaterThanOrEqual(50)
    expect(1 - wrong.length / labels.length, wrong.join('\n')).toBeGreaterThanOrEqual(MIN_LINKS)
  })
})

interface Figures {
  precision: number
  recall: number
}

/** By the first code of each mail. */
function figures(some: Labelled[]): Figures {
  const right = some.filter((one) => one.code !== undefined && best(one) === one.code).length
  const given = some.filter((one) => best(one) !== undefined).length
  const expected = some.filter(({ code }) => code !== undefined).length
  return { precision: right / given, recall: right / expected }
}

function formatted({ precision, recall }: Figures): string {
  return `precision ${precision.toFixed(3)} recall ${recall.toFixed(3)}`
}

function best({ mail }: Labelled): string | undefined {
  return mail.codes[0]?.value
}

function of(language: string): Labelled[] {
  return mails.filter((one) => one.language === language)
}

function namesOf(some: Labelled[]): string {
  return (
    some.map(({ name, mail }) => `${name} ${mail.codes[0]?.value ?? ''}`.trim()).join(', ') ||
    'none'
  )
}

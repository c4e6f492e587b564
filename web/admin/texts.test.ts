import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readMetrics } from '../../src/base/metrics.ts'
import { ATTEMPT_ERRORS, DISABLE_REASONS } from '../../src/webhooks/rules.ts'
import '../../src/smtp/metrics.ts'
import en from '../../src/shared/locales/admin/en.json' with { type: 'json' }
import { accountReason, labelText } from './texts.ts'

/** The labels that the plots of mails and refusals are made of. */
function smtpLabels(): string[] {
  const names = ['connections', 'refused_senders', 'refused_recipients', 'mails']
  const plotted = new Set(names.map((name) => `mayfly_smtp_${name}_total`))
  return readMetrics()
    .filter(({ name }) => plotted.has(name))
    .flatMap(({ values }) => values.flatMap(({ labels }) => Object.values(labels)))
    .filter((label) => label !== 'greeted')
}

test('every outcome, reason and error of the service has a text', () => {
  const labels = new Set([...smtpLabels(), 'fetched', ...ATTEMPT_ERRORS, ...DISABLE_REASONS])
  expect(labels.size).toBeGreaterThan(20)
  const untranslated = [...labels].filter((one) => labelText(one) === one.replaceAll('_', ' '))
  expect(untranslated).toEqual([])
})

test('every reason of an account that is translated is one of the service', () => {
  const folder = fileURLToPath(new URL('../../src/gmail/', import.meta.url))
  const files = globSync('**/*.ts', { cwd: folder }).map((path) =>
    readFileSync(folder + path, 'utf8'),
  )
  const source = files.join('\n').replaceAll(/\$\{\w+\}/g, '{limit}')
  const texts = Object.entries(en).filter(([name]) => /^admin_account_(?!off_how)/.test(name))
  expect(texts.length).toBeGreaterThan(15)
  for (const [, text] of texts) {
    expect(source).toContain(text.replace(/^./, (first) => first.toLowerCase()))
    const stored = text.replace(/^./, (first) => first.toLowerCase()).replace('{limit}', '2000')
    expect(accountReason(`${stored} (ECONNRESET)`)).toBe(
      `${text.replace('{limit}', '2,000')} (ECONNRESET)`,
    )
  }
})

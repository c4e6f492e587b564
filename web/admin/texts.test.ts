import { expect, test } from 'vitest'
import { readMetrics } from '../../src/base/metrics.ts'
import { ATTEMPT_ERRORS, DISABLE_REASONS } from '../../src/webhooks/rules.ts'
import '../../src/smtp/metrics.ts'
import { labelText } from './texts.ts'

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

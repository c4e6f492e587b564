import { expect, test } from 'vitest'
import { readConfig } from '../runtime/config.ts'
import { printConfig, type SettingLine } from './config.ts'

function printed(settings: readonly SettingLine[], options = {}): string[] {
  const lines: string[] = []
  printConfig(settings, options, (line) => lines.push(line))
  return lines
}

const env = { MAYFLY_HTTP_PORT: '9000', MAYFLY_ADMIN_TOKEN: 'hunter2' }
const { settings } = readConfig({ env, file: { MAYFLY_SESSION_TTL: '2h' } })

test('every setting has a line with value and origin, and its meaning below, in 100 columns', () => {
  const lines = printed(settings)
  expect(lines[0]).toMatch(/^SETTING +VALUE +FROM$/)
  const text = lines.join('\n').replace(/\n +/g, ' ')
  for (const { name, meaning } of settings) {
    expect(text).toMatch(new RegExp(`^${name} .*${RegExp.escape(meaning)}$`, 'm'))
  }
  expect(lines.find((line) => line.startsWith('MAYFLY_HTTP_PORT'))).toMatch(/ 9000 +environment$/)
  expect(lines.find((line) => line.startsWith('MAYFLY_SESSION_TTL'))).toMatch(/ 2h +file$/)
  expect(lines.find((line) => line.startsWith('MAYFLY_SMTP_PORT'))).toMatch(/ 2525 +default$/)
  expect(lines.find((line) => line.startsWith('MAYFLY_TRUST_PROXY'))).toMatch(/ - +default$/)
  expect(lines.filter((line) => line.length > 100)).toEqual([])
})

test('a long value without commas is wrapped as well', () => {
  const value = `/var/lib/${'mayfly/'.repeat(20)}`
  const lines = printed(readConfig({ env: { MAYFLY_DATA: value }, file: {} }).settings)
  expect(lines.filter((line) => line.length > 100)).toEqual([])
  const column = lines[0]?.indexOf('VALUE') ?? 0
  const row = lines.findIndex((line) => line.startsWith('MAYFLY_DATA '))
  const parts = lines.slice(row, row + 4).map((line) => line.slice(column, column + 40).trimEnd())
  expect(parts.join('')).toBe(value)
})

test('columns are aligned with their headings, even beside a wrapped list', () => {
  const [head = '', ...lines] = printed(settings)
  const column = head.indexOf('FROM')
  for (const line of lines.filter((line) => line.startsWith('MAYFLY_'))) {
    expect(line.slice(column)).toMatch(/^(default|environment|file)$/)
  }
  expect(lines.some((line) => /^ +[a-z]+\.example,/.test(line))).toBe(true)
})

test('a secret is shown only as set', () => {
  for (const options of [{}, { json: true }]) {
    const text = printed(settings, options).join('\n')
    expect(text).not.toContain('hunter2')
    expect(text).toContain('(set)')
  }
})

test('--json has the same settings', () => {
  const parsed = JSON.parse(printed(settings, { json: true }).join('\n'))
  expect(parsed).toHaveLength(settings.length)
  expect(parsed).toContainEqual({
    name: 'MAYFLY_HTTP_PORT',
    value: '9000',
    origin: 'environment',
    meaning: 'port for HTTP',
  })
})

test('control characters in values are escaped', () => {
  const line = { name: 'X', shown: '\u001b[2J', origin: 'environment', meaning: 'm' }
  expect(printed([line]).join()).not.toContain('\u001b')
})

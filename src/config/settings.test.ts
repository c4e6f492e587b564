import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadSettings, SettingsError, settingReader } from './settings.ts'
import { integer, text } from './values.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-settings-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function keep(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

function faultsOf(operation: () => unknown): readonly string[] {
  try {
    operation()
  } catch (error) {
    if (error instanceof SettingsError) return error.faults
    throw error
  }
  return []
}

describe('a setting comes from', () => {
  for (const [name, env, file, expected] of [
    ['its default when nobody gives it', {}, {}, ['7', 'default']],
    ['the file over its default', {}, { X: 8 }, ['8', 'file']],
    ['the environment over the file', { X: '9' }, { X: 8 }, ['9', 'environment']],
    ['the file when the variable is empty', { X: '' }, { X: 8 }, ['8', 'file']],
    ['its default when the file says null', {}, { X: null }, ['7', 'default']],
    ['its default when the file says nothing', {}, { X: '' }, ['7', 'default']],
  ] as const) {
    test(name, () => {
      const read = settingReader({ env, file })
      expect(read.setting('X', integer(0, 99), '7', 'a number')).toBe(Number(expected[0]))
      read.done()
      expect(read.settings).toEqual([
        { name: 'X', shown: expected[0], origin: expected[1], meaning: 'a number' },
      ])
    })
  }

  test('a list in the file as from a text with commas', () => {
    const read = settingReader({ env: {}, file: { X: ['a', 'b'], Y: true } })
    expect(read.setting('X', text, '', '')).toBe('a,b')
    expect(read.setting('Y', text, '', '')).toBe('true')
    read.done()
  })
})

describe('faults', () => {
  test('are told all at once, each with its name', () => {
    const read = settingReader({
      env: { A: 'x', B: '100', S_FILE: '/nowhere/secret' },
      file: { C: {}, D: 1, E: 2 },
    })
    expect(read.setting('A', integer(0, 99), '1', '')).toBe(1)
    read.setting('B', integer(0, 99), '1', '')
    read.setting('C', text, '', '')
    read.secret('S', '')
    read.check(false, 'A and B belong together')
    read.check(true, 'never told')
    expect(faultsOf(() => read.done())).toEqual([
      'A: "x" is no whole number from 0 to 99',
      'B: "100" is no whole number from 0 to 99',
      'C: mayfly.config.json gives an object; give a plain value',
      'S: S_FILE names /nowhere/secret, which is not there',
      'A and B belong together',
      'D: mayfly.config.json sets it, but there is no such setting',
      'E: mayfly.config.json sets it, but there is no such setting',
    ])
  })

  test('are one readable text', () => {
    expect(new SettingsError(['A: is wrong', 'B: too']).message).toBe(
      'These settings are wrong:\n  A: is wrong\n  B: too',
    )
  })

  test('are none for a stranger in the environment', () => {
    const read = settingReader({ env: { MAYFLY_SERVICE_HOST: '10.0.0.1' }, file: {} })
    expect(faultsOf(() => read.done())).toEqual([])
  })
})

describe('a secret', () => {
  test('is shown only as set', () => {
    const read = settingReader({ env: { S: 'hunter2' }, file: {} })
    expect(read.secret('S', 'a secret')).toBe('hunter2')
    expect(JSON.stringify(read.settings)).not.toContain('hunter2')
    expect(read.settings[0]).toMatchObject({ shown: '(set)', origin: 'environment' })
  })

  test('is empty, and shown so, when not given', () => {
    const read = settingReader({ env: {}, file: {} })
    expect(read.secret('S', 'a secret')).toBe('')
    expect(read.settings[0]).toMatchObject({ shown: '', origin: 'default' })
  })

  test('may lie in a file, without its last line break', () => {
    const path = keep('secret', 'hunter2\n')
    const sources = [
      { env: { S_FILE: path }, file: {} },
      { env: {}, file: { S_FILE: path } },
    ]
    for (const source of sources) {
      const read = settingReader(source)
      expect(read.secret('S', '')).toBe('hunter2')
      read.done()
    }
  })

  for (const [name, content, source, fault] of [
    ['may not lie in an empty file', ' \n', {}, /^S: S_FILE names .*secret, which is empty$/],
    ['is not given twice', 'a', { S: 'b' }, /^S: give it or S_FILE, not both$/],
  ] as const) {
    test(name, () => {
      const read = settingReader({ env: { S_FILE: keep('secret', content), ...source }, file: {} })
      read.secret('S', '')
      expect(faultsOf(() => read.done())).toEqual([expect.stringMatching(fault)])
    })
  }

  test('that cannot be read is a fault, not an empty secret', () => {
    const read = settingReader({ env: { S_FILE: folder }, file: {} })
    read.secret('S', '')
    expect(faultsOf(() => read.done())).toEqual([expect.stringMatching(/^S: EISDIR/)])
  })

  test('has no file form when it is no secret', () => {
    const read = settingReader({ env: { X_FILE: keep('x', '8') }, file: {} })
    expect(read.setting('X', integer(0, 99), '7', '')).toBe(7)
  })
})

describe('mayfly.config.json', () => {
  test('is not needed', () => {
    expect(loadSettings(folder, { A: '1' })).toEqual({ env: { A: '1' }, file: {} })
  })

  test('is read beside the environment', () => {
    keep('mayfly.config.json', '{"MAYFLY_HTTP_PORT": 9000}')
    expect(loadSettings(folder, {}).file).toEqual({ MAYFLY_HTTP_PORT: 9000 })
  })

  for (const [content, fault] of [
    ['{"MAYFLY_HTTP_PORT": 9000', /^mayfly\.config\.json: .*JSON/],
    ['', /^mayfly\.config\.json: .*JSON/],
    ['[]', /^mayfly\.config\.json: it must hold one object/],
    ['null', /^mayfly\.config\.json: it must hold one object/],
    ['8080', /^mayfly\.config\.json: it must hold one object/],
  ] as const) {
    test(`may not hold ${content || 'nothing'}`, () => {
      keep('mayfly.config.json', content)
      expect(faultsOf(() => loadSettings(folder, {}))).toEqual([expect.stringMatching(fault)])
    })
  }
})

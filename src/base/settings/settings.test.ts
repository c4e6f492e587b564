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

function writeFile(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

function problemsOf(operation: () => unknown): readonly string[] {
  try {
    operation()
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

describe('a setting comes from', () => {
  for (const [name, env, file, expected] of [
    ['its default if unset', {}, {}, ['7', 'default']],
    ['the file over its default', {}, { X: 8 }, ['8', 'file']],
    ['the environment over the file', { X: '9' }, { X: 8 }, ['9', 'environment']],
    ['the file if the variable is empty', { X: '' }, { X: 8 }, ['8', 'file']],
    ['its default if the file has null', {}, { X: null }, ['7', 'default']],
    ['its default if the file has an empty string', {}, { X: '' }, ['7', 'default']],
  ] as const) {
    test(name, () => {
      const read = settingReader({ env, file })
      expect(read.setting('X', integer(0, 99), '7', 'a number')).toBe(Number(expected[0]))
      read.throwIfInvalid()
      expect(read.settings).toEqual([
        { name: 'X', shown: expected[0], origin: expected[1], meaning: 'a number' },
      ])
    })
  }

  test('a list in the file, like comma-separated text', () => {
    const read = settingReader({ env: {}, file: { X: ['a', 'b'], Y: true } })
    expect(read.setting('X', text, '', '')).toBe('a,b')
    expect(read.setting('Y', text, '', '')).toBe('true')
    read.throwIfInvalid()
  })
})

describe('problems', () => {
  test('are reported together, each with its name', () => {
    const read = settingReader({
      env: { A: 'x', B: '100', S_FILE: '/nowhere/secret' },
      file: { C: {}, D: 1, E: 2 },
    })
    expect(read.setting('A', integer(0, 99), '1', '')).toBe(1)
    read.setting('B', integer(0, 99), '1', '')
    read.setting('C', text, '', '')
    read.secret('S', '')
    read.check(false, 'A and B belong together')
    read.check(true, 'never reported')
    expect(problemsOf(() => read.throwIfInvalid())).toEqual([
      'A: "x" is not a whole number from 0 to 99',
      'B: "100" is not a whole number from 0 to 99',
      'C: must be a plain value in mayfly.config.json, not an object',
      'S: file /nowhere/secret (from S_FILE) does not exist',
      'A and B belong together',
      'D: unknown setting in mayfly.config.json',
      'E: unknown setting in mayfly.config.json',
    ])
  })

  test('are formatted as one message', () => {
    expect(new SettingsError(['A: is wrong', 'B: too']).message).toBe(
      'Invalid settings:\n  A: is wrong\n  B: too',
    )
  })

  test('do not include unknown environment variables', () => {
    const read = settingReader({ env: { MAYFLY_SERVICE_HOST: '10.0.0.1' }, file: {} })
    expect(problemsOf(() => read.throwIfInvalid())).toEqual([])
  })
})

describe('a secret', () => {
  test('is shown only as set', () => {
    const read = settingReader({ env: { S: 'hunter2' }, file: {} })
    expect(read.secret('S', 'a secret')).toBe('hunter2')
    expect(JSON.stringify(read.settings)).not.toContain('hunter2')
    expect(read.settings[0]).toMatchObject({ shown: '(set)', origin: 'environment' })
  })

  test('is empty, and shown as such, if unset', () => {
    const read = settingReader({ env: {}, file: {} })
    expect(read.secret('S', 'a secret')).toBe('')
    expect(read.settings[0]).toMatchObject({ shown: '', origin: 'default' })
  })

  test('may be in a file; the trailing line break is ignored', () => {
    const path = writeFile('secret', 'hunter2\n')
    const sources = [
      { env: { S_FILE: path }, file: {} },
      { env: {}, file: { S_FILE: path } },
    ]
    for (const source of sources) {
      const read = settingReader(source)
      expect(read.secret('S', '')).toBe('hunter2')
      read.throwIfInvalid()
    }
  })

  for (const [name, content, source, problem] of [
    ['must not be in an empty file', ' \n', {}, /^S: file .*secret \(from S_FILE\) is empty$/],
    ['must not be set twice', 'a', { S: 'b' }, /^S: set either S or S_FILE, not both$/],
  ] as const) {
    test(name, () => {
      const read = settingReader({
        env: { S_FILE: writeFile('secret', content), ...source },
        file: {},
      })
      read.secret('S', '')
      expect(problemsOf(() => read.throwIfInvalid())).toEqual([expect.stringMatching(problem)])
    })
  }

  test('that cannot be read is a problem, not an empty secret', () => {
    const read = settingReader({ env: { S_FILE: folder }, file: {} })
    read.secret('S', '')
    expect(problemsOf(() => read.throwIfInvalid())).toEqual([expect.stringMatching(/^S: EISDIR/)])
  })

  test('is the only kind of setting that can be read from a file', () => {
    const read = settingReader({ env: { X_FILE: writeFile('x', '8') }, file: {} })
    expect(read.setting('X', integer(0, 99), '7', '')).toBe(7)
  })
})

describe('mayfly.config.json', () => {
  test('is optional', () => {
    expect(loadSettings(folder, { A: '1' })).toEqual({ env: { A: '1' }, file: {} })
  })

  test('is read in addition to the environment', () => {
    writeFile('mayfly.config.json', '{"MAYFLY_HTTP_PORT": 9000}')
    expect(loadSettings(folder, {}).file).toEqual({ MAYFLY_HTTP_PORT: 9000 })
  })

  for (const [content, problem] of [
    ['{"MAYFLY_HTTP_PORT": 9000', /^mayfly\.config\.json: .*JSON/],
    ['', /^mayfly\.config\.json: .*JSON/],
    ['[]', /^mayfly\.config\.json: must contain one object/],
    ['null', /^mayfly\.config\.json: must contain one object/],
    ['8080', /^mayfly\.config\.json: must contain one object/],
  ] as const) {
    test(`must not contain ${content || 'an empty string'}`, () => {
      writeFile('mayfly.config.json', content)
      expect(problemsOf(() => loadSettings(folder, {}))).toEqual([expect.stringMatching(problem)])
    })
  }
})

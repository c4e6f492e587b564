import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { parsePrefix } from '../../src/core/prefix.ts'
import { Problem } from '../../src/core/problem.ts'
import { isUnfinished, nameFault, tidyName } from './name.ts'

describe('a name of one’s own', () => {
  for (const [typed, expected] of [
    ['', undefined],
    ['a', undefined],
    ['007', undefined],
    ['Ann.Smith', undefined],
    ['a.b_c-d', undefined],
    ['  pasted  ', undefined],
    ['a'.repeat(64), undefined],
    ['a'.repeat(65), 'long'],
    ['.a', 'start'],
    ['-', 'start'],
    ['a-', 'end'],
    ['a..b', 'double'],
    ['a._b', 'double'],
    ['a+b', 'characters'],
    ['a@box.example', 'characters'],
    ['a b', 'characters'],
    ['zoë', 'characters'],
    ['\u212aim', 'characters'],
    ['\u0130an', 'characters'],
    ['ａ', 'characters'],
    ['١', 'characters'],
  ] as const) {
    test(`${JSON.stringify(typed)}: ${expected ?? 'good'}`, () =>
      assert.equal(nameFault(typed), expected))

    // What the page lets pass and what the server takes are one rule, written twice.
    test(`${JSON.stringify(typed)}: the server thinks so too`, () =>
      assert.equal(typed === '' || serverTakes(typed.trim()), expected === undefined))
  }

  test('that ends in a dot is only unfinished', () => {
    assert.equal(isUnfinished(nameFault('calm.')), true)
    assert.equal(isUnfinished(nameFault('calm..')), false)
  })
})

function serverTakes(name: string): boolean {
  try {
    return parsePrefix(name) === tidyName(name)
  } catch (fault) {
    if (fault instanceof Problem && fault.code === 'invalid_prefix') return false
    throw fault
  }
}

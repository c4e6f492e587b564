import assert from 'node:assert/strict'
import { test } from 'vitest'
import { parsePrefix, readableName } from './prefix.ts'

const bytes =
  (...values: number[]) =>
  () =>
    Uint8Array.from(values)

test('every byte chooses a word of its own', () => {
  const all = Array.from({ length: 256 }, (_, byte) =>
    readableName(bytes(byte, byte, 0, 0, 0, 0, 0)),
  )
  const words = all.map((name) => name.replace(/\d+$/, '').split('.'))
  assert.equal(new Set(words.map(([adjective]) => adjective)).size, 256)
  assert.equal(new Set(words.map(([, noun]) => noun)).size, 256)
})

test('every name is a prefix that a user could have asked for', () => {
  for (let byte = 0; byte < 256; byte += 1) {
    const name = readableName(bytes(byte, 255 - byte, byte, byte, byte, byte, byte))
    assert.equal(parsePrefix(name), name)
    assert.match(name, /^[a-z]{2,12}\.[a-z]{2,12}[0-9]{8}$/)
  }
})

test('every random byte counts', () => {
  const names = new Set<string>()
  for (let at = 0; at < 7; at += 1) {
    names.add(
      readableName(bytes(...Array.from({ length: 7 }, (_, place) => (place === at ? 1 : 0)))),
    )
  }
  assert.equal(names.size, 7)
})

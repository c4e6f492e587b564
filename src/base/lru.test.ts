import { expect, test } from 'vitest'
import { openLru } from './lru.ts'

/** A cache of ten in which `a`, `b`, `c` and `d` were set first. */
function filled() {
  const cache = openLru<string, number>(10)
  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) cache.set(key, at)
  return cache
}

/** Sets as many other keys. */
function setOthers(cache: { set(key: string, value: number): void }, count: number): void {
  for (let key = 0; key < count; key += 1) cache.set(`other ${key}`, key)
}

test('an entry stays while fewer than half the maximum were used after it', () => {
  const cache = filled()
  setOthers(cache, 1)
  expect(['a', 'b', 'c', 'd'].map(cache.get)).toEqual([0, 1, 2, 3])
})

test('an entry is evicted once as many as the maximum were used after it', () => {
  const cache = filled()
  setOthers(cache, 10)
  expect(['a', 'b', 'c', 'd'].map(cache.get)).toEqual([undefined, undefined, undefined, undefined])
})

test('reading an entry protects it from eviction', () => {
  const cache = filled()
  for (let turn = 0; turn < 100; turn += 1) {
    cache.set(`other ${turn}`, turn)
    expect(cache.get('a')).toBe(0)
  }
  expect(cache.get('b')).toBeUndefined()
})

test('a replaced entry has its new value, in either generation', () => {
  const cache = filled()
  cache.set('a', 7)
  expect(cache.get('a')).toBe(7)
  setOthers(cache, 2)
  cache.set('a', 8)
  expect(cache.get('a')).toBe(8)
  setOthers(cache, 4)
  expect(cache.get('a')).toBe(8)
})

test('replacing an entry takes no room', () => {
  const cache = filled()
  for (let turn = 0; turn < 100; turn += 1) cache.set('d', turn)
  expect(['a', 'b', 'c', 'd'].map(cache.get)).toEqual([0, 1, 2, 99])
})

test('a deleted entry is gone from both generations and makes room', () => {
  const cache = filled()
  setOthers(cache, 2)
  cache.set('a', 7)
  cache.delete('a')
  expect(cache.get('a')).toBeUndefined()
  for (let turn = 0; turn < 100; turn += 1) {
    cache.set('e', turn)
    cache.delete('e')
  }
  expect(['b', 'c', 'd'].map(cache.get)).toEqual([1, 2, 3])
})

test('an unknown key is neither found nor counted', () => {
  const cache = filled()
  for (let turn = 0; turn < 100; turn += 1) expect(cache.get(`unknown ${turn}`)).toBeUndefined()
  expect(['a', 'b', 'c', 'd'].map(cache.get)).toEqual([0, 1, 2, 3])
})

test('never holds more than the maximum', () => {
  const cache = openLru<number, number>(10)
  for (let key = 0; key < 1_000; key += 1) cache.set(key, key)
  const keys = Array.from({ length: 1_000 }, (_, key) => key)
  const remaining = keys.filter((key) => cache.get(key) !== undefined)
  expect(remaining.length).toBeGreaterThanOrEqual(5)
  expect(remaining.length).toBeLessThanOrEqual(10)
  expect(remaining).toEqual(keys.slice(-remaining.length))
})

test('counts the size of entries, and of a replaced one only once', () => {
  const cache = openLru<string, string>(100, { sizeOf: (value) => value.length })
  cache.set('a', 'x'.repeat(30))
  for (let turn = 0; turn < 100; turn += 1) cache.set('b', 'y'.repeat(10 + (turn % 9)))
  expect(cache.get('a')).toHaveLength(30)
  for (const key of ['c', 'd', 'e']) cache.set(key, 'x'.repeat(40))
  expect(cache.get('a')).toBeUndefined()
  expect(cache.get('e')).toHaveLength(40)
})

test('what was not used for twice the idle time is dropped, however small the cache', () => {
  let time = 0
  const cache = openLru<string, number>(1_000, { idleMs: 60, now: () => time })
  cache.set('idle', 1)
  cache.set('used', 2)
  for (time = 10; time <= 200; time += 10) {
    cache.set('other', time)
    expect(cache.get('used')).toBe(2)
  }
  expect(cache.get('idle')).toBeUndefined()
})

test('without an idle time, entries stay however old they are', () => {
  let time = 0
  const cache = openLru<string, number>(1_000, { now: () => time })
  cache.set('idle', 1)
  time = 1e9
  cache.set('other', 2)
  expect(cache.get('idle')).toBe(1)
})

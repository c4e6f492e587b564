import { expect, test } from 'vitest'
import { openLru } from './lru.ts'

/** The keys of a, b, c and d that are still cached. Reading them changes their order, so this comes last. */
function cached(cache: { get(key: string): unknown }): string {
  return ['a', 'b', 'c', 'd'].filter((key) => cache.get(key) !== undefined).join('')
}

function filled(maxEntries: number) {
  const cache = openLru<string, number>(maxEntries)
  for (const [at, key] of ['a', 'b', 'c'].entries()) cache.set(key, at)
  return cache
}

test('a full cache evicts the least recently used entry', () => {
  const cache = filled(3)
  cache.set('d', 3)
  expect(cached(cache)).toBe('bcd')
})

test('reading an entry protects it from eviction', () => {
  const cache = filled(3)
  expect(cache.get('a')).toBe(0)
  cache.set('d', 3)
  expect(cached(cache)).toBe('acd')
})

test('replacing an entry protects it and evicts nothing', () => {
  const cache = filled(3)
  cache.set('a', 7)
  expect(cache.get('a')).toBe(7)
  expect(cached(cache)).toBe('abc')
  cache.set('a', 8)
  cache.set('d', 3)
  expect(cached(cache)).toBe('acd')
})

test('a deleted entry makes room', () => {
  const cache = filled(3)
  cache.delete('b')
  cache.set('d', 3)
  expect(cached(cache)).toBe('acd')
})

test('an unknown key is neither found nor counted', () => {
  const cache = filled(3)
  expect(cache.get('d')).toBeUndefined()
  expect(cached(cache)).toBe('abc')
})

test('never holds more than the maximum', () => {
  const cache = openLru<number, number>(10)
  for (let key = 0; key < 1_000; key += 1) cache.set(key, key)
  const remaining = Array.from({ length: 1_000 }, (_, key) => key).filter(
    (key) => cache.get(key) !== undefined,
  )
  expect(remaining).toEqual([990, 991, 992, 993, 994, 995, 996, 997, 998, 999])
})

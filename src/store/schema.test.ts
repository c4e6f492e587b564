import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

// Lines of `sha256sum */migrations/*/*.sql`, in the order in which they landed: a new one is appended.
const FOLDER = fileURLToPath(new URL('./', import.meta.url))
const LANDED = readFileSync(`${FOLDER}migrations.sha256`, 'utf8').trim().split('\n')

test('a migration that has landed is neither changed nor removed', () => {
  const files = globSync('*/migrations/*/*', { cwd: FOLDER })
  const found = files.map((file) => {
    const hash = createHash('sha256').update(readFileSync(FOLDER + file))
    return `${hash.digest('hex')}  ${file}`
  })
  expect(found.sort()).toEqual(LANDED.toSorted())
})

// A database has the number of its last migration: one that exists would skip one in between.
test('a new migration comes after the others of its folder', () => {
  const highest = new Map<string, number>()
  for (const line of LANDED) {
    const [, folder = '', number] = /^\w{64} {2}(.+)\/(\d{4})\.sql$/.exec(line) ?? []
    expect(Number(number), line).toBeGreaterThan(highest.get(folder) ?? 0)
    highest.set(folder, Number(number))
  }
  expect(highest.size).toBe(4)
})

test.each(['mail', 'shop'])('both engines have the same migrations of %s', (kind) => {
  const numbers = (engine: string) =>
    LANDED.map((line) => line.split('  ')[1] ?? '')
      .filter((file) => file.startsWith(`${engine}/migrations/${kind}/`))
      .map((file) => file.split('/').at(-1) ?? '')
      // SQLite had these before there was PostgreSQL.
      .filter((file) => file > '0003.sql')
  expect(numbers('sqlite')).toEqual(numbers('postgres'))
  expect(numbers('sqlite').length).toBeGreaterThan(2)
})

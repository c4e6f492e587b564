import { afterEach, expect, test, vi } from 'vitest'
import type { Moved } from '../service/background/move-up.ts'
import { type CliActions, run } from './commands.ts'

const SAME: Moved = {
  tables: [{ name: 'mail.session', rows: 1_200, same: true }],
  bytes: 2_500_000,
  copied: true,
}

afterEach(() => vi.restoreAllMocks())

async function command(args: string[], moved: Moved = SAME) {
  const out: string[] = []
  const err: string[] = []
  const moves: unknown[] = []
  vi.spyOn(console, 'log').mockImplementation((line) => void out.push(line))
  vi.spyOn(console, 'error').mockImplementation((line) => void err.push(line))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0)
  const actions: Pick<CliActions, 'version' | 'migrate'> = {
    version: '1',
    async migrate(move) {
      moves.push(move)
      return moved
    },
  }
  const status = await run(['migrate', ...args], actions as CliActions)
  return { status, moves, out, err: err.join('\n') }
}

const FROM = ['--from', 'sqlite:./data']
const TO = ['--to', 'postgres://me:canary@db.test/mayfly']

test('a move is told table by table', async () => {
  const told = await command([...FROM, ...TO])
  expect(told).toMatchObject({ status: 0, err: '' })
  expect(told.moves).toEqual([{ folder: './data', url: 'postgres://me:canary@db.test/mayfly' }])
  expect(told.out).toEqual([
    'TABLE         ROWS   COMPARED',
    'mail.session  1,200  the same',
    'Moved: 1,200 rows, 2.5 MB of mail, the same on both sides.',
    'Next: set MAYFLY_STORE to that PostgreSQL and start. ./data is as it was.',
  ])
})

for (const [name, args, words] of [
  ['no source', TO, "required option '--from <store>' not specified"],
  ['no target', FROM, "required option '--to <store>' not specified"],
  ['no folder', ['--from', 'sqlite:', ...TO], 'name the folder'],
  ['a source of another kind', ['--from', 'postgres://me:canary@a.test/b', ...TO], '--from: what'],
  ['a target of another kind', [...FROM, '--to', 'sqlite:./other'], '--to: it goes to'],
  ['a target that is no address', [...FROM, '--to', 'postgres://me:canary@:x'], '--to: it goes to'],
] as const) {
  test(`${name} is told, and no password with it`, async () => {
    const told = await command([...args])
    expect(told).toMatchObject({ status: 2, moves: [], out: [] })
    expect(told.err).toContain(words)
    expect(told.err).not.toContain('canary')
  })
}

for (const [copied, words] of [
  [true, 'PostgreSQL differs from the folder in mail.session. Nothing was lost'],
  [false, 'in mail.session, as it does once a service has run on it. Nothing was lost'],
] as const) {
  test(`a difference is told after ${copied ? 'a move' : 'a look at a former one'}`, async () => {
    const tables = SAME.tables.map((table) => ({ ...table, same: false }))
    const told = await command([...FROM, ...TO], { ...SAME, tables, copied })
    expect(told.status).toBe(1)
    expect(told.out).toContain('mail.session  1,200  DIFFERS')
    expect(told.err).toContain(words)
  })
}

import { afterEach, expect, test, vi } from 'vitest'
import { type CliContext, run } from './commands.ts'
import type { Moved } from './migrate.ts'

const SAME: Moved = {
  tables: [{ name: 'mail.session', rows: 1_200, same: true }],
  bytes: 2_500_000,
}

afterEach(() => vi.restoreAllMocks())

async function command(args: string[], moved: Moved = SAME) {
  const out: string[] = []
  const err: string[] = []
  const moves: unknown[] = []
  vi.spyOn(console, 'log').mockImplementation((line) => void out.push(line))
  vi.spyOn(console, 'error').mockImplementation((line) => void err.push(line))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0)
  const actions: Pick<CliContext, 'version' | 'migrate'> = {
    version: '1',
    async migrate(move) {
      moves.push(move)
      return moved
    },
  }
  const status = await run(['migrate', ...args], actions as CliContext)
  return { status, moves, out, err: err.join('\n') }
}

const FROM = ['--from', 'sqlite:./data']
const TO = ['--to', 'postgres://me:canary@db.test/mayfly']

test('a move is reported table by table', async () => {
  const result = await command([...FROM, ...TO])
  expect(result).toMatchObject({ status: 0, err: '' })
  expect(result.moves).toEqual([{ folder: './data', url: 'postgres://me:canary@db.test/mayfly' }])
  expect(result.out).toEqual([
    'TABLE         ROWS   CHECKSUM',
    'mail.session  1,200  same',
    'Moved 1,200 rows, 2.5 MB of mail. All checksums match.',
    'Next: set MAYFLY_STORE to this PostgreSQL and start. ./data is unchanged.',
  ])
})

for (const [name, args, message] of [
  ['no source', TO, "required option '--from <store>' not specified"],
  ['no target', FROM, "required option '--to <store>' not specified"],
  ['no folder', ['--from', 'sqlite:', ...TO], 'must include the folder'],
  ['a source of another kind', ['--from', 'postgres://me:canary@a.test/b', ...TO], '--from: must'],
  ['a target of another kind', [...FROM, '--to', 'sqlite:./other'], '--to: must be'],
  ['a target that is not a URL', [...FROM, '--to', 'postgres://me:canary@:x'], '--to: must be'],
] as const) {
  test(`${name} is an error that quotes no password`, async () => {
    const result = await command([...args])
    expect(result).toMatchObject({ status: 2, moves: [], out: [] })
    expect(result.err).toContain(message)
    expect(result.err).not.toContain('canary')
  })
}

test('a checksum mismatch ends the command with status 1 and names the table', async () => {
  const tables = SAME.tables.map((table) => ({ ...table, same: false }))
  const result = await command([...FROM, ...TO], { ...SAME, tables })
  expect(result.status).toBe(1)
  expect(result.out).toContain('mail.session  1,200  DIFFERS')
  expect(result.err).toContain('The copy differs from the folder in mail.session.')
})

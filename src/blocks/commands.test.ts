import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { operatorFixture } from '../../test/kit/app/operator.ts'
import type { Progress } from '../cli/progress.ts'
import { addEntries, importFile, printBlocks, removeEntries } from './commands.ts'

const fixture = operatorFixture()
const add = (entries: string[], options = {}) =>
  addEntries(fixture.deps(), entries, options, fixture.print)

describe('block list', () => {
  test('shows entry, kind, times and note, a page at a time', async () => {
    await add(['spam.example'], { note: 'ticket 17' })
    await add(['192.0.2.0/24'], { for: '2h' })
    await add(['ann@mixed.example'])
    fixture.lines.length = 0
    await printBlocks(fixture.deps(), { limit: 2 }, fixture.print)
    expect(fixture.lines.splice(0)).toStrictEqual([
      'ENTRY              KIND     ADDED (UTC)       ENDS (UTC)        NOTE',
      'ann@mixed.example  address  2026-03-01 12:00  never',
      '192.0.2.0/24       network  2026-03-01 12:00  2026-03-01 14:00',
      '2 of 3 blocks. Next page: --before 2',
    ])
    await printBlocks(fixture.deps(), { limit: 2, before: 2, json: true }, fixture.print)
    expect(JSON.parse(fixture.lines.splice(0).join('\n'))).toStrictEqual([
      {
        entry: 'spam.example',
        kind: 'domain',
        note: 'ticket 17',
        created_at: '2026-03-01 12:00:00',
        created_at_iso: '2026-03-01T12:00:00Z',
        expires_at: null,
        expires_at_iso: null,
        number: 1,
      },
    ])
    await printBlocks(fixture.deps(), { limit: 2, text: 'nothing' }, fixture.print)
    expect(fixture.lines).toStrictEqual(['No such blocks.'])
  })

  test('says so if there are none', async () => {
    await printBlocks(fixture.deps(), { limit: 50 }, fixture.print)
    expect(fixture.lines).toStrictEqual(['No blocks.'])
  })
})

test('block add and remove say what they did', async () => {
  await add(['Spam.Example', '192.0.2.7'])
  await add(['spam.example'])
  await removeEntries(fixture.deps(), ['192.0.2.7'], fixture.print)
  const when = 'Takes effect within a second.'
  expect(fixture.lines).toStrictEqual([
    'Blocked spam.example and its subdomains.',
    'Blocked 192.0.2.7.',
    when,
    'Changed the block of spam.example and its subdomains.',
    when,
    'Removed the block of 192.0.2.7.',
    when,
  ])
  await expect(removeEntries(fixture.deps(), ['192.0.2.7'], fixture.print)).rejects.toMatchObject({
    message: '192.0.2.7 is not blocked by an entry of its own. See: mayfly block list',
    exitCode: 1,
  })
})

test.each([
  ['12.0.0.0/7', 'is wider than /8'],
  ['2000::/15', 'is wider than /16'],
  ['example', 'is a whole top-level domain'],
])('%s is too wide, and the message names the option', async (entry, why) => {
  await expect(add([entry])).rejects.toMatchObject({
    message: `${entry} ${why}: confirm it with --force.`,
    exitCode: 2,
  })
  await add([entry], { force: true })
})

test('an entry of this installation names the option', async () => {
  const message = (entry: string) =>
    `${entry} blocks addresses or domains of this installation: confirm it with --force.`
  await expect(add(['box.test'])).rejects.toMatchObject({
    message: message('box.test'),
    exitCode: 2,
  })
  await expect(add(['203.0.113.0/24'])).rejects.toMatchObject({
    message: message('203.0.113.0/24'),
  })
  await add(['box.test', '203.0.113.0/24'], { force: true })
})

describe('block import', () => {
  const shown: Progress[] = []
  const importText = async (text: string, options = {}) => {
    const progress = { tell: (one: Progress) => void shown.push(one), end() {} }
    const given = { input: Readable.from([text]), progress, ...options }
    await importFile(fixture.deps(), given, fixture.print)
  }

  test('adds the entries of a list, with progress; --remove takes them back', async () => {
    await add(['b.test'])
    await importText('# spammers\na.test\nb.test\n198.51.100.0/24 # ticket 18\n', { note: 'x' })
    expect(shown).toStrictEqual([
      { doing: 'importing', rows: 3, bytes: 0, all: { rows: 3, bytes: 0 } },
    ])
    expect(fixture.lines.at(-1) ?? '').toMatch(/^Added 2 blocks, changed 1\./)
    await importText('a.test\nc.test\n', { remove: true })
    expect(fixture.lines.at(-1) ?? '').toMatch(/^Removed 1 block; 1 were not on the list\./)
  })

  test('changes nothing if a line is invalid', async () => {
    await expect(
      importText('a.test\nno entry\n12.0.0.0/7\n172.17.0.1\nbox.test\n'),
    ).rejects.toMatchObject({
      message: [
        'Line 2: "no entry" is not a domain, an address, an IP address or a CIDR range.',
        'Line 3: 12.0.0.0/7 is wider than /8: confirm it with --force.',
        'Line 4: 172.17.0.1 blocks private addresses, such as those of proxies and containers: confirm it with --force.',
        'Line 5: box.test blocks addresses or domains of this installation: confirm it with --force.',
        'Nothing was changed.',
      ].join('\n'),
    })
    await printBlocks(fixture.deps(), { limit: 50 }, fixture.print)
    expect(fixture.lines).toStrictEqual(['No blocks.'])
  })
})

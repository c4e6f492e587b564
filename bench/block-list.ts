import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { importBlocks, listBlocks, parseBlockLines } from '../src/blocks/blocks.ts'
import { openBlockList } from '../src/blocks/open-block-list.ts'
import { openSqliteTestMail } from '../test/support/stores.ts'
import { quick } from './tools/options.ts'
import { alternate, figure, reportHeader, reportTable, say, spread } from './tools/report.ts'

// What does a block list of 100,000 entries cost: to import, to load into a thread, in memory, and per mail?

const ENTRIES = 100_000
const LOOKUPS = quick ? 10_000 : 200_000
const ROUNDS = quick ? 2 : 5

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const heapBytes = () => {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const entryOf = (index: number): string => {
  const [a, b] = [index >> 8, index & 255]
  return [
    `198.${(a >> 8) & 255}.${a & 255}.${b}`,
    `10.${(a >> 4) & 255}.${(a & 15) * 16}.0/${20 + (b % 12)}`,
    `2001:db8:${a.toString(16)}:${b.toString(16)}::/64`,
    `spam${index}.example`,
    `user${index}@mixed.example`,
  ][index % 5] as string
}

reportHeader('Block list', 'block-list')
const mail = await openSqliteTestMail()
const deps = { store: mail.store, own: { networks: [], domains: [] }, now: () => new Date() }
const log = { error() {} }
const text = Array.from({ length: ENTRIES }, (_, index) => entryOf(index)).join('\n')
const { entries, invalid } = parseBlockLines(text, { force: true })
if (invalid.length > 0) throw new Error(invalid[0])
say(`- ${figure(entries.length)} entries: addresses, ranges of 13 lengths, domains, SQLite`)

const [, importMs] = await timed(() => importBlocks(deps, entries, { report() {} }))
const before = heapBytes()
const [list, loadMs] = await timed(() => openBlockList({ ...deps, log }))
const bytes = heapBytes() - before
const [, pageMs] = await timed(() => listBlocks(deps, { limit: 100 }))
reportTable(
  ['import, s', 'load into a thread, ms', 'memory of a thread, MB', 'page of 100, ms'],
  [[importMs / 1_000, loadMs, bytes / 1_000_000, pageMs].map(figure)],
)

// As for a mail on a connection of its own: at the greeting, at MAIL and after DATA.
const unlisted = await openBlockList({
  ...deps,
  store: { lastBlockChange: async () => 0, readBlockChanges: async () => [] },
  log,
})
const contenders = [
  { name: 'empty', ...unlisted },
  { name: figure(entries.length), ...list },
]
for (const [name, clientIp] of [
  ['IPv4', '203.0.113.77'],
  ['IPv6', '2001:db9:1:2:3:4:5:6'],
] as const) {
  const rounds = await alternate(contenders, ROUNDS, async ({ findBlock, findMailBlock }) => {
    const started = process.threadCpuUsage()
    for (let one = 0; one < LOOKUPS; one += 1) {
      const mailFrom = `bounce+${one}@news.shop.example`
      findBlock({ clientIp })
      findBlock({ clientIp, mailFrom })
      await findMailBlock({ clientIp, mailFrom, readFrom: () => ['hello@shop.example'].values() })
    }
    const { user, system } = process.threadCpuUsage(started)
    return (user + system) / LOOKUPS
  })
  reportTable(
    [`look-ups for one mail, ${name}`, 'µs of CPU'],
    contenders.map((one) => [one.name, spread(rounds.get(one.name) ?? [])]),
  )
}
await Promise.all([list.close(), unlisted.close()])
await mail.close()

async function timed<T>(operation: () => Promise<T>): Promise<[T, number]> {
  const started = performance.now()
  const result = await operation()
  return [result, performance.now() - started]
}

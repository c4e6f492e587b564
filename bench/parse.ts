import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../test/kit/app/service-process.ts'
import { against, quick } from './tools/options.ts'
import { alternate, figure, reportHeader, reportTable, spread } from './tools/report.ts'

// How much CPU time does it take to parse a mail and find its codes and links? `--against FOLDER` compares with another checkout.

const ROUNDS = quick ? 3 : 15
const other = against ? [{ name: 'before', root: against }] : []

interface Checkout {
  name: string
  parse(raw: Buffer): unknown
  firstMs: number
}

const SETS = [
  ['mails with and without a code', 'src/mime/fixtures/codes/*.eml'],
  ['other mails', 'test/fixtures/corpora/**/*.eml'],
] as const
const sets = SETS.map(([name, files]) => ({
  name,
  mails: globSync(files, { cwd: ROOT }).map((file) => readFileSync(resolve(ROOT, file))),
}))

const checkouts: Checkout[] = []
for (const { name, root } of [{ name: 'now', root: ROOT }, ...other]) {
  const { parseMail } = (await import(
    pathToFileURL(resolve(root, 'src/mime/parse.ts')).href
  )) as typeof import('../src/mime/parse.ts')
  const first = sets[0]?.mails[0] ?? Buffer.of()
  checkouts.push({ name, parse: parseMail, firstMs: cpuMs(() => parseMail(first)) })
}

reportHeader('Parsing', 'parse', against)
for (const { name, mails } of sets) {
  const rounds = await alternate(checkouts, ROUNDS, async ({ parse }) => {
    const all = cpuMs(() => {
      for (const mail of mails) parse(mail)
    })
    return all / mails.length
  })
  reportTable(
    [`${mails.length} ${name}`, 'ms per mail', 'first mail, ms'],
    checkouts.map((one) => [one.name, spread(rounds.get(one.name) ?? []), figure(one.firstMs)]),
  )
}

function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

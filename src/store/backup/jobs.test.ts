import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { inShop, NOON, shopFolder } from '../../../test/kit/store/shop-folder.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { writeDatedBackup } from './dated.ts'
import { startBackups } from './jobs.ts'
import { LAST_BACKUP } from './last-backup.ts'
import { backupMetrics } from './metrics.ts'

let shop: ReturnType<typeof shopFolder>
let folder: string
let lines: [string, unknown][]
beforeEach(async () => {
  shop = shopFolder()
  folder = join(shop.path, 'backups')
  mkdirSync(folder)
  lines = []
  await inShop(shop.data, (store) => store.installationSecret(Buffer.alloc(32, 1)))
})
afterEach(() => shop.remove())

const log = {
  info: (facts: Record<string, unknown>, text: string) => void lines.push([text, facts['deleted']]),
  error: (facts: Record<string, unknown>, text: string) => void lines.push([text, facts['err']]),
}
/** Until it has logged something, or its first look is over. */
async function runOn(day: number, done = () => lines.length > 0) {
  const config = { data: shop.data, backup: { folder, keep: 2 } }
  const now = () => new Date(NOON.getTime() + day * 86_400_000)
  const job = startBackups({ config, now, log }, { firstMs: 0 })
  await waitUntil(done).finally(job.stop)
}
/** The value of the metric. */
async function metric(config = { data: shop.data, store: 'sqlite:', backup: { folder } }) {
  const [found] = await backupMetrics({ config })
  return found?.values.map(({ value }) => value)
}
const names = () => readdirSync(folder).map((name) => name.slice(0, 17))

test('a service makes a backup each day, and keeps as many as it should', async () => {
  expect(await metric()).toEqual([0])
  const started = Math.floor(Date.now() / 1000)
  for (const day of [0, 1, 2]) {
    lines = []
    await runOn(day)
  }
  expect(lines).toEqual([['backup written and verified', 1]])
  expect(names()).toEqual(['mayfly-2026-03-02', 'mayfly-2026-03-03'])
  expect((await metric())?.[0]).toBeGreaterThanOrEqual(started)
})

test('what prevents it is logged, and the next attempt succeeds', async () => {
  rmSync(folder, { recursive: true })
  await runOn(0)
  const [[text, error] = []] = lines
  expect(text).toBe('the daily backup failed; retrying')
  expect(String(error)).toContain(`${folder} does not exist. Create it first`)
  mkdirSync(folder)
  lines = []
  await runOn(0)
  expect(names()).toEqual(['mayfly-2026-03-01'])
})

test('after a backup of a timer, the time of the last one has a value, whoever made it', async () => {
  const config = { data: shop.data, store: 'sqlite:', backup: { folder: '' } }
  writeDatedBackup(shop.data, folder, { keep: 2, now: NOON, tell() {} })
  expect(await metric(config)).toHaveLength(1)
  shop.backup()
  expect(await metric(config)).toHaveLength(1)
})

test('a note of another user that cannot be read does not hide the time of the last backup', async () => {
  mkdirSync(join(shop.data, LAST_BACKUP))
  const config = { data: shop.data, store: 'sqlite:', backup: { folder: '' } }
  expect(await metric(config)).toHaveLength(1)
})

test('the time of the last backup has no value if there should be none', async () => {
  const data = { data: shop.data, backup: { folder: '' } }
  expect(await metric({ ...data, store: 'sqlite:' })).toEqual([])
  shop.backup()
  expect(await metric({ ...data, store: 'sqlite:' })).toEqual([])
  expect(await metric({ ...data, store: 'postgres://db/mayfly' })).toBeUndefined()
})

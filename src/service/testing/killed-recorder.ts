import { readConfig } from '../../config/config.ts'
import { counter, readMetrics } from '../../core/metrics.ts'
import { openMailStoreForCli } from '../../runtime/stores.ts'
import { openRecorder } from '../background/record-series.ts'

// Counts 5 mails in one minute and 3 in the next, which is never saved, and waits to be killed.

const [, , data = '', start = ''] = process.argv
const store = await openMailStoreForCli(readConfig({ env: { MAYFLY_DATA: data }, file: {} }).config)
const mails = counter('mayfly_smtp_mails_total', 'Mails', 'outcome')
let now = new Date(start)
const recorder = openRecorder({
  store,
  readMetrics: async () => readMetrics(),
  before: [],
  node: 'killed',
  now: () => now,
  log: { warn() {}, error() {} },
})
mails.add('stored', 5)
now = new Date(now.getTime() + 60_000)
await recorder.record()
mails.add('stored', 3)
process.stdout.write('recorded\n')
setInterval(() => {}, 1_000)

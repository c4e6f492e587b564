import { expect, test, vi } from 'vitest'
import { cutWithoutSync } from './kit/crash/control.ts'
import { ENGINES } from './kit/crash/engines.ts'
import { withPowerCuts } from './kit/crash/on-disk.ts'
import { crashUnderLoad } from './kit/crash/rounds.ts'
import { loopDiskProblem, makeLoopDisk } from './kit/programs/power-cut.ts'
import { skipIfProblem } from './kit/skip.ts'
import { ACKNOWLEDGED } from './kit/store/ledger.ts'

// What a power cut leaves. All data lies on an ext4 image that is mounted through a loop device. Under load every process
// of the installation is stopped and the image file is copied: what ext4 has submitted to the device is in the copy, what
// exists only in the page cache of the mounted file system is not. The copy is mounted (the journal is replayed) and
// replaces the first disk; what starts there must have every mail that was acknowledged before the stop.
//
// Shown: each 250 is preceded by enough syncs that file contents, file sizes and directory entries have been handed to
// the device, and both engines recover from such a disk.
// Not shown: a device that loses or reorders what it was handed but not told to flush (whatever was handed over is in the
// copy; torn-writes of npm run campaign shows that), and a cut in the middle of a system call (the processes are stopped between two of them).
// That the sync comes before the 250 and after the last write is shown by fsync.test.ts.

const CUTS = 20
const CONTROL_CUTS = 3
const MAILS = 50

skipIfProblem(loopDiskProblem())

// The service starts 48 times: about 200 s of CPU in all, and far longer than that on a busy machine.
vi.setConfig({ testTimeout: 900_000 })

for (const [name, engine] of Object.entries(ENGINES)) {
  test(`${name}: every mail acknowledged before a power cut is there afterwards`, async () => {
    const start = withPowerCuts(engine, makeLoopDisk)
    const { counts, findings } = await crashUnderLoad({ start, mails: MAILS, count: CUTS })
    expect(findings).toStrictEqual([])
    process.stdout.write(`${name}: ${counts[ACKNOWLEDGED]} mails, ${CUTS} cuts, all there\n`)
  })

  test(`${name}: each power cut loses mail when commits are not synced (control)`, async () => {
    const options = { makeDisk: makeLoopDisk, count: CONTROL_CUTS }
    const { done, counts, findings } = await cutWithoutSync(engine, options)
    expect({ done, findings }).toStrictEqual({ done: CONTROL_CUTS, findings: [] })
    process.stdout.write(`${name} without sync: ${JSON.stringify(counts)}\n`)
  })
}

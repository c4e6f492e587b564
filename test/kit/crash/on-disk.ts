import { execFileSync } from 'node:child_process'
import { type Disk, pauseProcesses } from '../programs/power-cut.ts'
import type { Engine, Running, StartOptions } from './engines.ts'

/** An installation on a disk of its own, whose restart is a power cut: the next start finds only what the disk kept. */
export function withPowerCuts(
  { start }: Engine,
  makeDisk: (folder: string) => Promise<Disk> | Disk,
): Engine['start'] {
  return async (options: StartOptions): Promise<Running> => {
    let disk = await makeDisk(options.folder)
    let running: Running
    try {
      running = await start({ ...options, folder: disk.path })
    } catch (error) {
      await disk.remove()
      throw error
    }
    return {
      url: running.url,
      smtpPort: running.smtpPort,
      get pids() {
        return running.pids
      },
      mayfly: (...args) => running.mayfly(...args),
      mayflyOnBackup: (...args) => running.mayflyOnBackup(...args),
      async restart(turn) {
        const kill = await pauseProcesses(running.pids)
        // All replies sent before have been read and recorded by the time of the check: nothing sends any more.
        const copy = await disk.cut(`cut-${turn}`).finally(kill)
        await running.kill()
        await disk.remove()
        disk = copy
        running = await start({ ...options, folder: disk.path })
      },
      stop: () => running.stop(),
      async kill() {
        await running.kill()
        await disk.remove()
      },
      // Only a control needs it: what it does not sync itself must be there all the same.
      sync: options.root ? () => void execFileSync('sync', ['-f', disk.path]) : undefined,
    }
  }
}

import type { Disk } from '../programs/power-cut.ts'
import type { Engine, Running, StartOptions } from './engines.ts'

/**
 * An installation on a disk of its own, whose restart is a power cut: the next start finds only what the disk kept. `before`: what
 * happens to the disk under load before that.
 */
export function withPowerCuts<Kind extends Disk>(
  { start }: Pick<Engine, 'start'>,
  makeDisk: (folder: string) => Promise<Kind> | Kind,
  before?: (disk: Kind, running: Running) => Promise<void>,
): Engine['start'] {
  return async (options: StartOptions): Promise<Running> => {
    let disk = await makeDisk(options.folder)
    const startThere = () => start({ ...options, folder: disk.path, sync: () => disk.sync() })
    let running: Running
    let printed = ''
    try {
      running = await startThere()
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
      get config() {
        return running.config
      },
      backUp: () => running.backUp(),
      restoreBackups: () => running.restoreBackups(),
      async restart(turn) {
        await before?.(disk, running)
        const left = (await disk.cut(`cut-${turn}`, running.pids)) as Kind
        await running.kill()
        printed += running.output()
        await disk.remove()
        disk = left
        running = await startThere()
      },
      stop: () => running.stop(),
      damage: () => running.damage(),
      output: () => printed + running.output(),
      async kill() {
        await running.kill()
        await disk.remove()
      },
      // Only a control needs it: what it does not sync itself must be there all the same.
      sync: options.root ? () => disk.sync() : undefined,
    }
  }
}

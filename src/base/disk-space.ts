import { statfsSync } from 'node:fs'

const MIN_FREE_SHARE = 0.05
const MIN_FREE_BYTES = 512 * 1024 * 1024

/** Free bytes on the disk of a folder, and the limit below which mail is deferred. */
export function diskSpace(folder: string, minFreeBytes: number | 'auto') {
  const { bavail, blocks, bsize } = statfsSync(folder)
  const least =
    minFreeBytes === 'auto'
      ? Math.min(blocks * bsize * MIN_FREE_SHARE, MIN_FREE_BYTES)
      : minFreeBytes
  return { free: bavail * bsize, least }
}

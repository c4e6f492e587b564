import type { BlockStore } from './store.ts'

export const blockSweep = {
  idleMs: 60_000,
  step: (store: Pick<BlockStore, 'sweepBlocks'>, now: Date) => store.sweepBlocks(now),
}

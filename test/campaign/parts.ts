import type { Part } from './part.ts'
import { cluster } from './parts/cluster.ts'
import { crashPostgres, crashSqlite, powerPostgres, powerSqlite } from './parts/crashes.ts'
import { controls, diskFaults, tornWrites } from './parts/disks.ts'
import { FUZZ_PARTS } from './parts/fuzz.ts'
import { soakNodes, soakSqlite } from './parts/soak.ts'

/** In the order in which they run. */
export const PARTS: readonly Part[] = [
  crashSqlite,
  crashPostgres,
  powerSqlite,
  powerPostgres,
  tornWrites,
  diskFaults,
  controls,
  ...FUZZ_PARTS,
  cluster,
  soakSqlite,
  soakNodes,
]

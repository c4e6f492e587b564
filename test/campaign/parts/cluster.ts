import { runClusterBatch, runClusterControl } from '../../kit/nodes/cluster-batch.ts'
import { networkProblem } from '../../kit/nodes/network.ts'
import {
  buildCommit,
  canRunBesideLastRelease,
  firstWithSchema,
  lastRelease,
} from '../../kit/programs/last-release.ts'
import { CAMPAIGN_PROGRAMS, findProgram } from '../../kit/programs/programs.ts'
import type { Part } from '../part.ts'

/** Three nodes, PostgreSQL and a synchronous standby, Redis and HAProxy, each in its own network namespace. */
export const cluster: Part = {
  name: 'cluster',
  unit: 'faults',
  goal: 320,
  quickGoal: 2,
  batch: 8,
  problem() {
    const missing = Object.keys(CAMPAIGN_PROGRAMS).filter((name) => !findProgram(name))
    return missing.length > 0 ? `missing: ${missing.join(', ')}` : networkProblem()
  },
  async run({ count, done, report }) {
    const older = olderVersion()
    const missed = done === 0 ? await runClusterControl(report) : []
    const batch = await runClusterBatch({ count, seed: done, report, older })
    return { ...batch, findings: [...missed, ...batch.findings] }
  },
}

/** The root of the last release, or of an older state of this version where the changelog forbids that. */
function olderVersion(): string | undefined {
  const commit = canRunBesideLastRelease() ? lastRelease()?.commit : firstWithSchema()
  return commit === undefined ? undefined : buildCommit(commit)
}

import { levelFaults } from '../../../bench/tools/soak/levels.ts'
import { RATES } from '../../../bench/tools/soak/load.ts'
import type { Sample } from '../../../bench/tools/soak/samples.ts'
import { sumCounts, type Taken } from '../../../bench/tools/soak/tally.ts'
import { leakedSecrets, loggedErrors } from '../../kit/nodes/logs.ts'

/** What a soak has seen. */
export interface Soaked {
  /** On the last release. */
  before: readonly Taken[]
  /** Until what met the upgrade was over. */
  during: Taken
  after: readonly Sample[]
  /** After the last sample, until everything was over. */
  rest: Taken
  /** Everything printed by every version of every node, */
  output: string
  /** and what may not be in there. */
  secrets: Iterable<string>
  /** Of every process that was a node; null: killed by a signal. */
  exitCodes: readonly (number | null)[]
  /** How often a proxy found a node to be down without an upgrade. */
  outages: number
  /** Of the load and of mailboxes. */
  faults: readonly string[]
  /** Too short to tell what is level. */
  isQuick: boolean
}

export function soakFindings(soaked: Soaked): string[] {
  const { before, during, after, rest, exitCodes, outages } = soaked
  const all = [...before, during, ...after, rest]
  const done = sumCounts(all.map((taken) => taken.done))
  const leaked = leakedSecrets(soaked.output, soaked.secrets)
  return [
    ...describe('operations failed', 'failed', all),
    ...describe('attempts were repeated without an upgrade', 'retries', [
      ...before,
      ...after,
      rest,
    ]),
    ...Object.keys(RATES).flatMap((name) => (done[name] ? [] : [`none of the ${name} succeeded`])),
    ...firstOf(soaked.faults),
    ...(soaked.isQuick ? [] : levelFaults(after)),
    ...firstOf(loggedErrors(soaked.output)),
    ...(leaked.length > 0 ? [`${leaked.length} secrets in the log, such as ${leaked[0]}`] : []),
    ...exitCodes.flatMap((code) => (code === 0 ? [] : [`a node ended with ${code}`])),
    ...(outages > 0 ? [`${outages} times a node was down without an upgrade`] : []),
  ]
}

const MAX_LISTED = 10

function describe(what: string, of: 'retries' | 'failed', all: readonly Taken[]): string[] {
  const counts = Object.entries(sumCounts(all.map((taken) => taken[of])))
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  const largest = counts.toSorted(([, one], [, other]) => other - one).slice(0, MAX_LISTED)
  const list = largest.map(([name, count]) => `${count} × ${name}`).join(', ')
  return total === 0 ? [] : [`${total} ${what}: ${list}`]
}

/** The first, and how many there are. */
function firstOf(faults: readonly string[]): string[] {
  if (faults.length <= MAX_LISTED) return [...faults]
  return [...faults.slice(0, MAX_LISTED), `${faults.length} such faults in all`]
}

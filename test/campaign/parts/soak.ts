import { issueKey, UNLIMITED, unlimitedPlan } from '../../../bench/tools/keys.ts'
import { levelFaults, levelsOf } from '../../../bench/tools/soak/levels.ts'
import { prepareLoad, type SoakLoad, startLoad } from '../../../bench/tools/soak/load.ts'
import type { Recorded } from '../../../bench/tools/soak/mailboxes.ts'
import { memoryMb, soak } from '../../../bench/tools/soak/samples.ts'
import { sumCounts, type Taken } from '../../../bench/tools/soak/tally.ts'
import { createSession } from '../../kit/http/api-client.ts'
import { post } from '../../kit/http/http-client.ts'
import { lastRelease } from '../../kit/programs/last-release.ts'
import { ACKNOWLEDGED, ledgerFaults } from '../../kit/store/ledger.ts'
import { tempFolder } from '../../kit/store/stores.ts'
import { waitUntil } from '../../kit/wait-until.ts'
import type { Batch, BatchOrder, Part } from '../part.ts'
import { type OpenInstallation, openOnSqlite, openThreeNodes } from './soak-installations.ts'

// Hours of a moderate mix of everything. It starts on the last release, which is upgraded under load. Before and after the upgrade,
// nothing has to be tried again; from then on memory, files, descriptors and latencies must be level.

const RELEASE_SHARE = 1 / 3
const BOXES = 40
// Then their mails are looked for, and deleted: otherwise the data would grow.
const RECORDED_MINUTES = 10
// So many are always under way. After an upgrade, those that have met it are repeated first.
const USUALLY_PENDING = 100
const CATCH_UP_MS = 300_000
const MAX_LISTED = 10

export const soakSqlite = soakPart('soak-sqlite', openOnSqlite)
export const soakNodes = soakPart('soak-nodes', openThreeNodes)

function soakPart(name: string, open: OpenInstallation): Part {
  const minutes = 120
  return {
    name,
    unit: 'minutes',
    goal: minutes,
    quickGoal: 0.5,
    // It cannot be divided: only a long run shows what is level. One that is stopped begins again.
    batch: minutes,
    problem: () => (lastRelease() ? undefined : 'the last release is not in the git history'),
    run: (order) => runSoak(open, order),
  }
}

async function runSoak(open: OpenInstallation, { count, report }: BatchOrder): Promise<Batch> {
  const folder = tempFolder()
  const cleanup: (() => unknown)[] = [folder.remove]
  try {
    const plan = unlimitedPlan(folder.path)
    const { account, env } = await prepareLoad(folder.path)
    cleanup.push(account.close)
    report('building the last release')
    const installation = await open({ folder: folder.path, env: { ...env, ...plan } })
    cleanup.push(installation.close)
    const { target, client, url, release, upgrade, output } = installation
    const key = issueKey(UNLIMITED, { ...plan, ...installation.env }, release)
    const load = await startLoad({ client, url, key, account })
    cleanup.push(load.close)
    const recorded = openRecorded(url, load)
    await recorded.next()

    const sampleSeconds = count < RECORDED_MINUTES ? 5 : 60
    const soakFor = (minutes: number) =>
      soak(target, load, {
        ...{ minutes, sampleSeconds },
        async onSample(sample) {
          report(`minute ${sample.minute.toFixed(1)}, ${Math.round(memoryMb(sample))} MB`)
          if (sample.minute % RECORDED_MINUTES === 0) await recorded.next()
        },
      })
    const before = await soakFor(count * RELEASE_SHARE)
    report('upgrading')
    await upgrade()
    await waitUntil(() => load.pending() < USUALLY_PENDING, CATCH_UP_MS)
    const during = load.take()
    const after = await soakFor(count * (1 - RELEASE_SHARE))
    const faults = await load.stop()
    const lost = await recorded.check()
    const codes = await installation.stop()
    const all = [...before, during, ...after, load.take()]
    return {
      done: count,
      counts: {
        ...sumCounts(all.map(({ done }) => done)),
        [ACKNOWLEDGED]: recorded.checked(),
        'retries during the upgrade': total([during], 'retries'),
      },
      figures: Object.fromEntries(levelsOf(after).map(({ name, last }) => [name, last])),
      findings: [
        ...describe('operations failed', 'failed', all),
        ...describe('operations had to be repeated without an upgrade', 'retries', [
          ...before,
          ...after,
        ]),
        ...firstOf(faults),
        ...firstOf(lost),
        ...levelFaults(after),
        ...firstOf(output().split('\n').filter(isError)),
        ...codes.filter((code) => code !== 0).map((code) => `a SIGTERM ended a node with ${code}`),
      ],
    }
  } finally {
    for (const clean of cleanup.reverse()) await clean()
  }
}

/** Mailboxes that last for some time, and the mails that were sent to them. */
function openRecorded(url: string, load: SoakLoad) {
  let rounds: Recorded[] = []
  const faults: string[] = []
  let checked = 0

  async function check({ boxes, lines }: Recorded): Promise<void> {
    checked += lines.filter(({ isAcknowledged }) => isAcknowledged).length
    faults.push(...(await ledgerFaults(url, boxes, lines)))
    for (const { token } of boxes) {
      const { status, text } = await post(`${url}/api/delete-session`, { token })
      if (status !== 200) faults.push(`delete-session: ${status} ${text}`)
    }
  }

  return {
    /** Replaces the mailboxes, and checks those before the last: nothing is on its way to them any more. */
    async next(): Promise<void> {
      const boxes = await Promise.all(Array.from({ length: BOXES }, () => createSession(url)))
      const round = { boxes, lines: [] }
      load.record(round)
      for (const old of rounds.slice(0, -1)) await check(old)
      rounds = [...rounds.slice(-1), round]
    },
    checked: () => checked,
    /** What is wrong with all of them, when nothing is sent any more. */
    async check(): Promise<string[]> {
      for (const round of rounds) await check(round)
      return faults
    },
  }
}

const total = (all: readonly Taken[], of: 'retries' | 'failed') =>
  Object.values(sumCounts(all.map((taken) => taken[of]))).reduce((sum, count) => sum + count, 0)

function describe(what: string, of: 'retries' | 'failed', all: readonly Taken[]): string[] {
  const counts = Object.entries(sumCounts(all.map((taken) => taken[of])))
  const largest = counts.toSorted(([, one], [, other]) => other - one).slice(0, MAX_LISTED)
  const list = largest.map(([name, count]) => `${count} × ${name}`).join(', ')
  return counts.length === 0 ? [] : [`${total(all, of)} ${what}: ${list}`]
}

/** The first, and how many there are. */
function firstOf(faults: readonly string[]): string[] {
  if (faults.length <= MAX_LISTED) return [...faults]
  return [...faults.slice(0, MAX_LISTED), `${faults.length} such faults in all`]
}

const isError = (line: string) => line.includes('"level":"error"')

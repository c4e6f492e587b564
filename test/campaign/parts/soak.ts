import { issueKey, UNLIMITED, unlimitedPlan } from '../../../bench/tools/keys.ts'
import { levelsOf } from '../../../bench/tools/soak/levels.ts'
import { prepareLoad, type SoakLoad, startLoad } from '../../../bench/tools/soak/load.ts'
import type { Recorded } from '../../../bench/tools/soak/mailboxes.ts'
import { memoryMb, soak } from '../../../bench/tools/soak/samples.ts'
import { sumCounts } from '../../../bench/tools/soak/tally.ts'
import { createSession } from '../../kit/http/api-client.ts'
import { post } from '../../kit/http/http-client.ts'
import { lastRelease } from '../../kit/programs/last-release.ts'
import { ACKNOWLEDGED, ledgerFaults } from '../../kit/store/ledger.ts'
import { tempFolder } from '../../kit/store/stores.ts'
import { waitUntil } from '../../kit/wait-until.ts'
import type { Batch, BatchOrder, Part } from '../part.ts'
import { soakFindings } from './soak-findings.ts'
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
    const { target, client, url, release, upgrade, output, outages } = installation
    const key = issueKey(UNLIMITED, { ...plan, ...installation.env }, release)
    const load = await startLoad({ client, url, key, account })
    cleanup.push(load.close)
    const recorded = openRecorded(url, load)
    await recorded.next()

    const isQuick = count < RECORDED_MINUTES
    const sampleSeconds = isQuick ? 5 : 60
    const soakFor = (minutes: number) =>
      soak(target, load, {
        ...{ minutes, sampleSeconds },
        async onSample(sample) {
          report(`minute ${sample.minute.toFixed(1)}, ${Math.round(memoryMb(sample))} MB`)
          if (sample.minute % RECORDED_MINUTES === 0) await recorded.next()
        },
      })
    const before = await soakFor(count * RELEASE_SHARE)
    const outagesBefore = outages()
    report('upgrading')
    await upgrade()
    const caughtUp = await waitUntil(() => load.pending() < USUALLY_PENDING, CATCH_UP_MS).then(
      () => [],
      () => [`${load.pending()} operations under way ${CATCH_UP_MS / 1_000} s after the upgrade`],
    )
    const during = load.take()
    const outagesUpgraded = outages()
    const after = await soakFor(count * (1 - RELEASE_SHARE))
    const faults = [...caughtUp, ...(await load.stop()), ...(await recorded.check())]
    const rest = load.take()
    const outagesAfter = outages() - outagesUpgraded
    const exitCodes = await installation.stop()
    return {
      done: count,
      counts: {
        ...sumCounts([...before, during, ...after, rest].map(({ done }) => done)),
        [ACKNOWLEDGED]: recorded.checked(),
        ...Object.fromEntries(
          Object.entries(during.retries).map(([what, times]) => [`${what} in the upgrade`, times]),
        ),
      },
      figures: Object.fromEntries(levelsOf(after).map(({ name, last }) => [name, last])),
      findings: soakFindings({
        ...{ before, during, after, rest, faults, exitCodes, isQuick },
        output: output(),
        secrets: [...load.secrets(), ...recorded.tokens()],
        outages: outagesBefore + outagesAfter,
      }),
    }
  } finally {
    for (const clean of cleanup.reverse()) await clean()
  }
}

/** Mailboxes that last for some time, and the mails that were sent to them. */
function openRecorded(url: string, load: SoakLoad) {
  let rounds: Recorded[] = []
  const tokens: string[] = []
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
      tokens.push(...boxes.map(({ token }) => token))
      const round = { boxes, lines: [] }
      load.record(round)
      for (const old of rounds.slice(0, -1)) await check(old)
      rounds = [...rounds.slice(-1), round]
    },
    tokens: () => tokens,
    checked: () => checked,
    /** What is wrong with all of them, when nothing is sent any more. */
    async check(): Promise<string[]> {
      for (const round of rounds) await check(round)
      return faults
    },
  }
}

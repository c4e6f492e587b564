import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { describe, expect, test } from 'vitest'
import {
  type Cost,
  combine,
  costOf,
  costOnNodes,
  costsWithSharing,
  cpuOf,
  fullRate,
  idleOf,
  type Model,
  medianModel,
} from '../bench/tools/capacity.ts'
import {
  cellsFor,
  clusterFor,
  DAY_MIX,
  LIMITS,
  mostMails,
  PLAN,
  shareAfterOutage,
  shareOfNodes,
} from '../bench/tools/cells.ts'
import { CHECK_MIX, compare, shareText } from '../bench/tools/model-checks.ts'
import { simulate } from '../bench/tools/queues.ts'
import { median, percentile, replaceTable } from '../bench/tools/report.ts'

const nothing = combine([])
const mail: Cost = { ...nothing, nodeCpu: 0.002, postgresCpu: 0.001, storedBytes: 2_400, wakes: 1 }
const poll: Cost = { ...nothing, nodeCpu: 0.0002, redisCpu: 0.0001, clientCpu: 0.0002 }

/** In which only these operations of the mix of a day cost anything. */
function modelOf(costs: Record<string, Cost>, wakeCpu = 0): Model {
  const all = {
    ...Object.fromEntries(Object.keys(DAY_MIX).map((name) => [name, nothing])),
    ...costs,
  }
  const wake = { ...nothing, nodeCpu: wakeCpu, redisCpu: wakeCpu }
  return {
    costs: { light: all, full: all },
    wake: { light: wake, full: wake },
    idle: {
      cluster: { ...nothing, postgresCpu: 0.1 },
      node: { ...nothing, nodeCpu: 0.02 },
      stream: { ...nothing, nodeCpu: 0.001 },
    },
  }
}

describe('the model of costs', () => {
  const costs = { mail, poll }

  test('a mix costs the sum of its operations', () => {
    const cost = costOf({ mail: 1, poll: 10 }, costs)
    expect(cost.nodeCpu).toBeCloseTo(0.004)
    expect([cost.postgresCpu, cost.redisCpu, cost.clientCpu]).toStrictEqual([0.001, 0.001, 0.002])
    expect(() => costOf({ wait: 1 }, costs)).toThrow('the cost of "wait" is not known')
  })

  test('each further node receives each wake', () => {
    const options = { mix: { mail: 2, poll: 10 }, load: 'light' } as const
    const cpu = (nodes: number) => costOnNodes(modelOf(costs, 1e-4), { ...options, nodes }).nodeCpu
    expect(cpu(1)).toBeCloseTo(0.006, 6)
    expect(cpu(3)).toBeCloseTo(0.006 + 2 * 2 * 1e-4, 6)
  })

  test('idle use is that of each node and stream, and once that of the cluster', () => {
    const { nodeCpu, postgresCpu } = idleOf(modelOf(costs), { nodes: 3, streams: 10 })
    expect(nodeCpu).toBeCloseTo(0.07)
    expect(postgresCpu).toBeCloseTo(0.1)
  })

  test('cores are full of everything that runs on them', () => {
    const unit = costOf({ mail: 1, poll: 10 }, costs)
    const idle: Cost = { ...nothing, nodeCpu: 0.3, postgresCpu: 0.2 }
    expect(fullRate(unit, idle, 2)).toBeCloseTo(1.5 / 0.008)
  })

  test.each([
    [1, 0.003],
    [5, 0.0022],
    [20, 0.00205],
    // It still is one of them.
    [0.2, 0.003],
  ])('%d of 20 operations share what is done once for all of them', (sharing, expected) => {
    const of = (nodeCpu: number) => ({ mail: { ...mail, nodeCpu } })
    const measured = { light: of(0.002 + 0.001), full: of(0.002 + 0.001 / 20) }
    const { mail: cost } = costsWithSharing(measured, () => sharing, 20)
    expect(cost?.nodeCpu).toBeCloseTo(expected, 8)
    expect(cost?.storedBytes).toBeCloseTo(mail.storedBytes)
  })

  test('the median of rounds is that of each figure', () => {
    const models = [1, 9, 2].map((nodeCpu) => modelOf({ mail: { ...mail, nodeCpu } }, nodeCpu))
    const { costs, wake } = medianModel(models)
    expect(costs.full['mail']).toStrictEqual({ ...mail, nodeCpu: 2 })
    expect(wake.light.redisCpu).toBe(2)
  })

  test('a share beyond 20 % is marked', () => {
    expect([0.79, 0.81, 1.19, 1.21].map(shareText)).toStrictEqual([
      ...['**0.79**', '0.81', '1.19', '**1.21**'],
    ])
  })
})

describe('what is compared with a measurement', () => {
  const ofMix = Object.fromEntries(Object.keys(CHECK_MIX).map((name) => [name, poll]))
  const model = modelOf({ ...ofMix, 'mail of 4 KB': mail }, 1e-4)
  const measured = [8, 10, 90].map((perSecond) => ({ perSecond, cost: nothing }))
  // What the model says of 20 mails and 80 polls, with all that is idle and the wakes of two further nodes.
  const idleCpu = 0.1 + 3 * 0.02 + 20 * 0.001
  const referenceCpu = 0.2 * (0.003 + 2 * 2e-4) + 0.8 * 0.0005 + idleCpu / 10
  const compareWith = (times: number) => {
    const reference = { perSecond: 10, cost: { ...nothing, clientCpu: times * referenceCpu } }
    const rounds = measured.map((round) => ({ light: round, full: round, reference }))
    return compare(model, { nodes: 3, streams: 20, rounds })
  }
  const [light, full] = compareWith(1)

  test('light load: at the rate that was measured, with all that is idle', () => {
    expect.assert(light)
    expect([light.measured.perSecond, light.predicted.perSecond]).toStrictEqual([10, 10])
    const unit = 0.16 * (0.002 + 2 * 1e-4) + 0.84 * 0.0002
    expect(light.predicted.cost.nodeCpu).toBeCloseTo(unit + (3 * 0.02 + 20 * 0.001) / 10, 6)
    expect(light.predicted.cost.postgresCpu).toBeCloseTo(0.16 * 0.001 + 0.1 / 10, 6)
  })

  test('full load: at a rate that fills the cores', () => {
    expect.assert(full)
    const { perSecond, cost } = full.predicted
    expect(cpuOf(cost) * perSecond).toBeCloseTo(availableParallelism(), 6)
  })

  test('full load: each process is as much slower as with the mix that it is compared with', () => {
    const [, twice] = compareWith(2)
    expect.assert(full && twice)
    expect([full.contention, twice.contention].map((one) => one.toFixed(6))).toStrictEqual([
      ...['1.000000', '2.000000'],
    ])
    const { perSecond, cost } = twice.predicted
    expect(cpuOf(cost) * perSecond).toBeCloseTo(availableParallelism(), 6)
    expect(perSecond).toBeLessThan(full.predicted.perSecond / 2)
    expect(cost.storedBytes).toBeCloseTo(full.predicted.cost.storedBytes)
  })
})

describe('what a day requires', () => {
  const perMail: Cost = { ...nothing, nodeCpu: 0.04, postgresCpu: 0.01, storedBytes: 7_000 }
  const model = modelOf({ 'expiry of a mail': perMail })
  const day = (mails: number, of = model) => {
    const cluster = clusterFor(of, mails)
    expect.assert(cluster)
    return cluster
  }

  test('the peak is three times the average', () => {
    const { mailsPerSecond, used, storedBytes } = day(864_000)
    expect(mailsPerSecond).toBeCloseTo(30)
    expect(used.postgresCpu).toBeCloseTo(0.4)
    expect(storedBytes).toBeCloseTo(864_000 * 7_000 * (25 / 24))
  })

  test.each([1e3, 1e6, 2.5e6, 1e7, 3e7])(
    'there are as few nodes as may be for %d mails',
    (mails) => {
      const cluster = day(mails)
      const fits = (nodes: number) =>
        shareOfNodes({ ...cluster, nodes }) <= PLAN.full &&
        shareOfNodes({ ...cluster, nodes }, 1) <= PLAN.fullWithoutNode
      expect(fits(cluster.nodes)).toBe(true)
      // An idle node uses 0.02 cores, too little to matter here.
      expect(cluster.nodes === 2 || !fits(cluster.nodes - 1)).toBe(true)
    },
  )

  test('wakes limit how many nodes are of use', () => {
    const waking = { ...perMail, wakes: 1 }
    expect(clusterFor(modelOf({ 'expiry of a mail': waking }, 1e-3), 1e9)).toBeUndefined()
  })

  test('a limit is reached when half of it is used at the peak', () => {
    const [cpu] = LIMITS
    expect.assert(cpu)
    const most = mostMails(model, [cpu])
    // 16 cores, less what runs anyway.
    expect(most / (((15.9 / 0.01) * 86_400) / 3)).toBeCloseTo(1, 2)
    expect(mostMails(model)).toBeLessThanOrEqual(most)
  })

  test.each([
    [1e6, 1],
    [10e6, 1],
    [11e6, 3],
    [100e6, 11],
  ])('%d mails take %d cells of 10 million, one of which may be down', (mails, cells) => {
    expect(cellsFor(mails, 10e6)).toBe(cells)
  })

  test('after an outage, all mail comes twice', () => {
    const ofMail = modelOf({ 'mail of 4 KB': mail })
    const cluster = day(10e6, ofMail)
    const share = shareOfNodes(cluster)
    const idle = 0.02 / PLAN.nodeCores
    expect(shareAfterOutage(ofMail, cluster)).toBeCloseTo(2 * share - idle, 6)
  })
})

describe('the simulation of queues', () => {
  const servers = { nodes: 1, nodeCores: 1, postgresCores: 1, flushSeconds: 0.001 }
  const run = (perSecond: number, cost: Partial<Cost>, of = servers, seconds = 60) =>
    simulate([{ name: 'mail', perSecond, cost: { ...nothing, ...cost } }], of, seconds).get(
      'mail',
    ) ?? []
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

  test.each([0.3, 0.5, 0.75])('a core that is %d full is the queue of theory (M/M/1)', (full) => {
    const times = run(full * 1_000, { nodeCpu: 0.001 })
    expect(mean(times) / (0.001 / (1 - full))).toBeCloseTo(1, 1)
    expect(percentile(times, 0.99) / ((0.001 * Math.log(100)) / (1 - full))).toBeCloseTo(1, 0)
  })

  test('with one of three nodes down, requests wait longer', () => {
    const times = (nodes: number) => run(1_500, { nodeCpu: 0.001 }, { ...servers, nodes }, 20)
    expect(mean(times(2))).toBeGreaterThan(1.8 * mean(times(3)))
  })

  test('a commit waits for the flush that runs and for its own, which others share', () => {
    expect(median(run(1, { transactions: 1 }))).toBeCloseTo(0.001, 6)
    expect(median(run(20_000, { transactions: 1 }, servers, 2))).toBeCloseTo(0.0015, 4)
  })
})

test('a table of a page is replaced by name', () => {
  const place = (name: string, table: string) =>
    `<!-- costs: ${name} -->\n${table}\n<!-- end of costs -->\n`
  const page = `a\n${place('day', '| 1 |')}b\n${place('limits', '| 2 |')}`
  expect(replaceTable(page, 'limits', '| 3 |')).toBe(page.replace('2', '3'))
  expect(() => replaceTable(page, 'hour', '')).toThrow('no place for the table "hour"')
})

test.each(['operations', 'checks', 'limits', 'day', 'queues'])(
  'the page has a place for %s',
  (name) => {
    const page = readFileSync(new URL('../docs/scaling.md', import.meta.url), 'utf8')
    expect(replaceTable(page, name, 'table of this test')).toContain('table of this test')
  },
)

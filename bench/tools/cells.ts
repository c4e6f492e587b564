import {
  type Cost,
  combine,
  costOf,
  costOnNodes,
  idleOf,
  type Load,
  type Mix,
  type Model,
} from './capacity.ts'

// What a day requires of one cluster, and how many clusters (cells). All inputs that are not measured are here.

export const PLAN = {
  /** The busiest minute, of the average. */
  peak: 3,
  /** The most of anything that is planned for at the peak. */
  full: 0.5,
  /** The same of the nodes while one of them is down. */
  fullWithoutNode: 0.75,
  nodeCores: 4,
  postgresCores: 32,
  redisCores: 1,
  /** Until the WAL of a commit is on the disks of the primary and a standby. */
  flushSeconds: 0.001,
  /** Connections that commit at the same time, and share a flush. */
  commitsPerFlush: 8,
  walBytesPerSecond: 200e6,
  standbys: 2,
  /** 10 Gbit/s. */
  netBytesPerSecond: 1.25e9,
  /** Half of it is restored within an hour, at 300 MB/s. */
  storedBytes: 2e12,
  /** Mail of sessions that last a day is stored for this many days on average, see docs/scaling.md. */
  storedDays: 25 / 24,
}

/** What comes with one mail: 10 polls, and a stream that is open for a minute. */
export const DAY_MIX: Mix = {
  'mail of 4 KB': 0.9,
  'mail of 50 KB': 0.1,
  'TLS of a mail': 0.9,
  'poll, 304': 8,
  'poll, list': 1.5,
  'first list of a mail': 0.5,
  'event of a stream': 0.3,
  'stream, 3 s': 20,
  'wait that is answered': 0.1,
  'webhook delivery': 0.1,
  session: 0.3,
  '/emails request': 0.2,
  'expiry of a mail': 1,
}
/** What senders repeat after a cell was down. */
const MAIL_MIX: Mix = { 'mail of 4 KB': 0.9, 'mail of 50 KB': 0.1, 'TLS of a mail': 0.9 }

const SECONDS_PER_DAY = 86_400

/** One primary, one Redis, and nodes. */
export interface Cluster {
  mailsPerDay: number
  mailsPerSecond: number
  nodes: number
  /** Per second at the peak. */
  used: Cost
  storedBytes: number
}

/** With as few nodes as may be; undefined if a further node receives more wakes than it can handle. */
export function clusterFor(
  model: Model,
  mailsPerDay: number,
  load: Load = 'light',
): Cluster | undefined {
  const mailsPerSecond = (mailsPerDay / SECONDS_PER_DAY) * PLAN.peak
  const usedBy = (nodes: number) =>
    combine([
      [costOnNodes(model, { mix: DAY_MIX, load, nodes }), mailsPerSecond],
      [idleOf(model, { nodes, streams: 0 }), 1],
    ])
  const shared = usedBy(0).nodeCpu
  const ofEach = usedBy(1).nodeCpu - shared
  const [full, fullWithoutNode] = [PLAN.full, PLAN.fullWithoutNode].map(
    (share) => share * PLAN.nodeCores,
  ) as [number, number]
  if (ofEach >= Math.min(full, fullWithoutNode)) return undefined
  const nodes = Math.max(
    2,
    Math.ceil(shared / (full - ofEach)),
    Math.ceil((shared + fullWithoutNode) / (fullWithoutNode - ofEach)),
  )
  // Not by load: many operations show it more exactly, because a file grows in pages.
  const { storedBytes } = costOf(DAY_MIX, model.costs.full)
  return {
    ...{ mailsPerDay, mailsPerSecond, nodes, used: usedBy(nodes) },
    storedBytes: mailsPerDay * PLAN.storedDays * storedBytes,
  }
}

export function shareOfNodes({ nodes, used }: Cluster, down = 0): number {
  return used.nodeCpu / ((nodes - down) * PLAN.nodeCores)
}

/** The same in the hour after an hour at the peak without any node, if senders repeat all their mail in it. */
export function shareAfterOutage(model: Model, cluster: Cluster): number {
  const { nodes, mailsPerSecond } = cluster
  const mail = costOnNodes(model, { mix: MAIL_MIX, load: 'light', nodes })
  const used = combine([
    [cluster.used, 1],
    [mail, mailsPerSecond],
  ])
  return shareOfNodes({ ...cluster, used })
}

const mbit = (bytes: number) => `${(bytes * 8) / 1e6} Mbit/s`

/** Of what there is only one in a cluster: the share that is used. */
export const LIMITS: readonly { name: string; has: string; share(cluster: Cluster): number }[] = [
  {
    name: 'CPU of PostgreSQL',
    has: `${PLAN.postgresCores} cores`,
    share: ({ used }) => used.postgresCpu / PLAN.postgresCores,
  },
  {
    name: 'commits of PostgreSQL',
    has: `${PLAN.commitsPerFlush} at a time, ${PLAN.flushSeconds * 1_000} ms`,
    share: ({ used }) => (used.transactions * PLAN.flushSeconds) / PLAN.commitsPerFlush,
  },
  {
    name: 'WAL to disk',
    has: `${PLAN.walBytesPerSecond / 1e6} MB/s`,
    share: ({ used }) => used.walBytes / PLAN.walBytesPerSecond,
  },
  {
    name: 'network of PostgreSQL: nodes and standbys',
    has: mbit(PLAN.netBytesPerSecond),
    share: ({ used }) =>
      (used.postgresNetBytes + PLAN.standbys * used.walBytes) / PLAN.netBytesPerSecond,
  },
  {
    name: 'data',
    has: `${PLAN.storedBytes / 1e9} GB`,
    share: ({ storedBytes }) => storedBytes / PLAN.storedBytes,
  },
  {
    name: 'CPU of Redis',
    has: `${PLAN.redisCores} core`,
    share: ({ used }) => used.redisCpu / PLAN.redisCores,
  },
]

/** The most mails a day of one cluster, by one of its limits or by all. */
export function mostMails(model: Model, limits = LIMITS, load: Load = 'light'): number {
  const fits = (mails: number) => {
    const cluster = clusterFor(model, mails, load)
    return cluster !== undefined && limits.every(({ share }) => share(cluster) <= PLAN.full)
  }
  let [low, high] = [1e3, 1e12]
  while (high / low > 1.001) {
    const middle = Math.sqrt(low * high)
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

/** Cells for this many mails a day. If it takes several, the others can take over the visitors of one that is down. */
export function cellsFor(mailsPerDay: number, mailsPerCell: number): number {
  return mailsPerDay <= mailsPerCell ? 1 : Math.ceil(mailsPerDay / mailsPerCell) + 1
}

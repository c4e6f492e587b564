import { cpuOf } from './processes.ts'
import { alternate } from './rounds.ts'
import { mailsFor, sendMails } from './smtp-source.ts'
import { median } from './stats.ts'

export interface Contestant {
  name: string
  pid: number
  /** Of the database server that it keeps its mail in, if that is another process. */
  storePid?: number
  port: number
  recipient(): Promise<string>
  /** Waits for what is still to be done for mails that were answered. */
  settled?(mails: number): Promise<void>
}

export interface Case {
  name: string
  bytes: number
  kept: boolean
  senders: number
}

export interface Outcome {
  /** As the sender hears 250. */
  perSecond: number
  /** Until a reader can have the last of them. */
  donePerSecond: number
  cpuPerThousand: number
  storeCpuPerThousand: number
}

/** Every combination, the first list outermost. */
export function casesOf(kilobytes: readonly number[], counts = [20, 100]): Case[] {
  return kilobytes.flatMap((kb) =>
    [false, true].flatMap((kept) =>
      counts.map((senders) => ({
        name: `${kb} KB, ${kept ? 'kept connections' : 'a connection per mail'}, ${senders} senders`,
        bytes: kb * 1024,
        kept,
        senders,
      })),
    ),
  )
}

/** Each contestant gets as many mails as it takes in so many seconds. */
export async function runCase(
  contestants: readonly Contestant[],
  one: Case & { file: string },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Map<string, Outcome[]>> {
  const counts = new Map<string, number>()
  for (const contestant of contestants) {
    const { perSecond } = await measure(contestant, { ...one, mails: one.senders * 5 })
    counts.set(contestant.name, mailsFor(seconds, perSecond, one.senders))
  }
  return alternate(contestants, rounds, (contestant) =>
    measure(contestant, { ...one, mails: counts.get(contestant.name) ?? 0 }),
  )
}

async function measure(
  contestant: Contestant,
  sending: Case & { file: string; mails: number },
): Promise<Outcome> {
  const to = await contestant.recipient()
  const before = cpuOf(contestant)
  const start = performance.now()
  const perSecond = await sendMails({ ...sending, port: contestant.port, to })
  await contestant.settled?.(sending.mails)
  const seconds = (performance.now() - start) / 1000
  const after = cpuOf(contestant)
  return {
    perSecond,
    donePerSecond: sending.mails / seconds,
    cpuPerThousand: ((after.server - before.server) / sending.mails) * 1000,
    storeCpuPerThousand: ((after.store - before.store) / sending.mails) * 1000,
  }
}

/** The median of one figure over all rounds of one contestant. */
export function rate(
  outcomes: ReadonlyMap<string, readonly Outcome[]>,
  name: string,
  which: keyof Outcome = 'perSecond',
): number {
  return median((outcomes.get(name) ?? []).map((outcome) => outcome[which]))
}

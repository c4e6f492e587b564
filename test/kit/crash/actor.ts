import { type KeyRing, openKeyRing } from '../shop/keys.ts'
import type { TestMailbox } from '../store/ledger.ts'
import type { Backup, RestoredBackup } from './backups.ts'

/** The installation that is attacked. */
export interface Target {
  url: string
  smtpPort: number
  /** For what the operator does beside the service. */
  config: { data: string; store: string }
  /** Starts a backup, which the fault interrupts. Resolves when it has begun to write, or has ended. */
  backUp(): Promise<Backup>
  /** Restores elsewhere every file that can be taken for a backup, and deletes it. */
  restoreBackups(): Promise<RestoredBackup[]>
}

/** A part of the load. It records what was acknowledged and compares it with what a crash has left. */
export interface Actor {
  /** Settings that the service needs for it. */
  env?: Record<string, string>
  /** Called once, when the service has started for the first time. */
  begin?(target: Target): Promise<void>
  /** Works until stopped, with these mailboxes. Outages are expected. */
  run(target: Target, round: Round): Promise<void>
  /** Awaited before the crash, beside everything else. Once `busy` has resolved, the crash waits for nothing but this. */
  beforeCrash?(target: Target, busy: Promise<unknown>): Promise<void>
  /** What is wrong after a crash, while nothing runs. `all`: not only in the last round. */
  faults(target: Target, all: boolean): Promise<string[]>
  /** Waits for what the service completes later, and checks it. */
  drain?(target: Target): Promise<string[]>
  /** How many effects were acknowledged, for the tables. */
  counts(): Record<string, number>
  /** What must be in no log. */
  secrets?(): string[]
  close?(): Promise<void>
}

export interface Round {
  boxes: readonly TestMailbox[]
  stopped(): boolean
  /** From the moment before the fault on. */
  isFaultDue(): boolean
  /** Whether the fault, once it is due, excuses this status. */
  isOutage(status: number): boolean
}

/** Repeats the step with a pause until stopped. */
export async function repeatUntilStopped(
  { stopped }: Pick<Round, 'stopped'>,
  pauseMs: number,
  step: () => Promise<void>,
): Promise<void> {
  while (!stopped()) {
    await step()
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** The keys of the installation. Not during a fault: its disk must not be in use here. */
export async function withKeys<T>(
  { config }: Pick<Target, 'config'>,
  use: (ring: KeyRing) => Promise<T>,
): Promise<T> {
  const ring = await openKeyRing({ config, now: () => new Date() })
  return await use(ring).finally(ring.close)
}

export interface CallResult {
  status: number
  body: Record<string, unknown>
}

/** The status of a response, and its body if that is JSON; undefined if the connection failed. */
export async function call(url: string, init: RequestInit = {}): Promise<CallResult | undefined> {
  const response = await fetch(url, init).catch(() => undefined)
  const text = await response?.text().catch(() => undefined)
  if (response === undefined || text === undefined) return undefined
  const { status } = response
  try {
    return { status, body: JSON.parse(text) as CallResult['body'] }
  } catch {
    return { status, body: {} }
  }
}

export const form = (params: Record<string, string>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(params),
})

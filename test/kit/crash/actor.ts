import type { CliResult } from '../app/cli.ts'
import type { TestMailbox } from '../store/ledger.ts'

/** The installation that is attacked. */
export interface Target {
  url: string
  smtpPort: number
  /** Runs a command of the operator beside the service. */
  mayfly(...args: string[]): Promise<CliResult>
  /** Backs up the installation, restores that elsewhere, and runs a command there. */
  mayflyOnBackup(...args: string[]): Promise<CliResult>
}

/** A part of the load. It records what was acknowledged and compares it with what a crash has left. */
export interface Actor {
  /** Settings that the service needs for it. */
  env?: Record<string, string>
  /** Called once, when the service has started for the first time. */
  begin?(target: Target): Promise<void>
  /** Works until stopped, with these mailboxes. Outages are expected. */
  run(target: Target, round: Round): Promise<void>
  /** Runs to its end before the crash, beside everything else. */
  beforeCrash?(target: Target): Promise<void>
  /** What is wrong after a crash, while nothing runs. `all`: not only in the last round. */
  faults(target: Target, all: boolean): Promise<string[]>
  /** Waits for what the service completes later, and checks it. */
  drain?(target: Target): Promise<string[]>
  /** How many effects were acknowledged, for the tables. */
  counts(): Record<string, number>
  close?(): Promise<void>
}

export interface Round {
  boxes: readonly TestMailbox[]
  stopped(): boolean
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

export interface CallResult {
  status: number
  body: Record<string, unknown>
}

/** The status and the JSON of a response; undefined if the connection failed. */
export async function call(url: string, init: RequestInit = {}): Promise<CallResult | undefined> {
  try {
    const response = await fetch(url, init)
    const body = (await response.json()) as CallResult['body']
    return { status: response.status, body }
  } catch {
    return undefined
  }
}

export const form = (params: Record<string, string>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(params),
})

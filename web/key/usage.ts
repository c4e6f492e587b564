import { signal } from '@preact/signals'
import type { Answers } from '../site/api.ts'
import { ask, Refusal, Unreachable } from '../site/ask.ts'
import type { Usage } from '../site/shapes.ts'
import { heldKey } from './held-key.ts'

export const usage = signal<Usage | undefined>(undefined)
export const usageFault = signal<unknown>(undefined)
export const asking = signal(false)
/** What the plans are called: a key knows only the id of its own. */
export const planNames = signal<ReadonlyMap<string, string>>(new Map())

/** True once the reader did something here: then the focus follows to what takes the place of it. */
export const handled = signal(false)

let latest = 0

/** Asks what is used of the key that is held; an answer about a former one is not shown. */
export async function askUsage(): Promise<void> {
  latest += 1
  const mine = latest
  asking.value = true
  usageFault.value = undefined
  try {
    const found = await ask<Usage>('/usage', { headers: { apikey: heldKey.value } })
    if (mine === latest) usage.value = found
  } catch (fault) {
    if (mine !== latest) return
    usageFault.value = fault
    // What was known stays true when the site cannot be reached.
    if (fault instanceof Refusal && fault.code === 'invalid_key') usage.value = undefined
  } finally {
    if (mine === latest) asking.value = false
  }
}

export function dropUsage(): void {
  latest += 1
  asking.value = false
  usage.value = undefined
  usageFault.value = undefined
}

export async function askPlanNames(): Promise<void> {
  try {
    const { plans } = await ask<Answers['GET /api/plans']>('/api/plans')
    planNames.value = new Map(plans.map(({ id, name }) => [id, name]))
  } catch (fault) {
    // Nothing is amiss without them: the id of a plan is a word too.
    if (!(fault instanceof Refusal || fault instanceof Unreachable)) throw fault
  }
}

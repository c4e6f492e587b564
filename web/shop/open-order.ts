import { signal } from '@preact/signals'
import type { Answers } from '../site/api.ts'
import { ask, Refusal } from '../site/ask.ts'
import type { Order } from '../site/shapes.ts'
import { claimSecret } from './claim-secret.ts'

export type MintedKey = Answers['POST /api/orders/{id}/claim']
export type OpenOrder = ReturnType<typeof openOrder>

const FIRST_LOOK_MS = 2_000
const LAST_LOOK_MS = 20_000

/** An order, watched as long as something may happen to it. */
export function openOrder(id: string) {
  const secret = claimSecret(id)
  takeFragment(secret.keep)
  const order = signal<Order | undefined>(undefined)
  /** Why we cannot look: the claim secret is not known here, or is another's. */
  const locked = signal<'no' | 'unknown' | 'wrong'>('no')
  const fault = signal<unknown>(undefined)
  const minted = signal<MintedKey | undefined>(undefined)
  const minting = signal(false)
  const headers = () => ({ 'claim-secret': secret.find() ?? '' })
  let pauseMs = FIRST_LOOK_MS

  async function look(): Promise<void> {
    if (secret.find() === undefined) {
      locked.value = 'unknown'
      return
    }
    try {
      order.value = await ask<Order>(`/api/orders/${id}`, { headers: headers() })
      fault.value = undefined
      if (!isUnderWay(order.value)) return
    } catch (problem) {
      if (problem instanceof Refusal && problem.code === 'not_found') {
        locked.value = 'wrong'
        return
      }
      fault.value = problem
    }
    setTimeout(look, pauseMs)
    pauseMs = Math.min(pauseMs * 1.3, LAST_LOOK_MS)
  }

  async function unlock(given: string): Promise<void> {
    secret.keep(given)
    locked.value = 'no'
    await look()
  }

  async function mint(): Promise<void> {
    if (minting.value) return
    minting.value = true
    fault.value = undefined
    try {
      const path = `/api/orders/${id}/claim`
      minted.value = await ask<MintedKey>(path, { method: 'POST', headers: headers() })
    } catch (problem) {
      fault.value = problem
    } finally {
      minting.value = false
    }
  }

  return { id, order, locked, fault, minted, minting, look, unlock, mint, secret: secret.find }
}

export function isUnderWay({ state }: Order): boolean {
  return state === 'open' || state === 'pending'
}

/** Not left in the address bar, where it would be shared with the next screenshot; unless nothing else keeps it. */
function takeFragment(keep: (secret: string) => boolean): void {
  const given = location.hash.slice(1)
  if (given && keep(given)) history.replaceState(null, '', location.pathname)
}

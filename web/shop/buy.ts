import { signal } from '@preact/signals'
import type { Answers } from '../site/api.ts'
import { ask } from '../site/ask.ts'
import { claimSecret } from './claim-secret.ts'

/** A browser that keeps nothing could not show the key after the payment: nobody is sent to pay for that. */
export class Forgetful extends Error {}

/** Whether an order is on its way: meanwhile no second one is made. */
export const buying = signal(false)
export const buyFault = signal<unknown>(undefined)

// A page that comes back from the browser's memory comes back as it was left.
addEventListener('pageshow', () => {
  buying.value = false
})

/** Makes the order and leads to where it is paid. */
export async function buy(plan: string, email: string): Promise<void> {
  if (buying.value) return
  buying.value = true
  buyFault.value = undefined
  try {
    const made = await ask<Answers['POST /api/checkout']>('/api/checkout', {
      method: 'POST',
      values: { plan, email },
      headers: { 'idempotency-key': attemptOf(`${plan} ${email}`) },
    })
    if (!claimSecret(made.order_id).keep(made.claim_secret)) throw new Forgetful()
    location.assign(made.url)
  } catch (fault) {
    buyFault.value = fault
    buying.value = false
  }
}

const attempts = new Map<string, string>()

/** One order however often it is tried; another plan or address is another order. */
function attemptOf(wish: string): string {
  const known = attempts.get(wish) ?? randomText()
  attempts.set(wish, known)
  return known
}

function randomText(): string {
  return [...crypto.getRandomValues(new Uint8Array(32))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

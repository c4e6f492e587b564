import { Stripe } from 'stripe'
import { Problem } from '../core/problem.ts'

const TOLERANCE_SECONDS = 300

interface VerifyNeeds {
  webhookSecrets: readonly string[]
  now(): Date
}

/** The event in these bytes, if Stripe signed them with one of our secrets, and did so just now. */
export function verifiedEvent(
  raw: Uint8Array,
  signature: string | undefined,
  { webhookSecrets, now }: VerifyNeeds,
): unknown {
  if (!signature) throw new Problem('invalid_parameter', 'Stripe-Signature: the header is missing.')
  const time = now().getTime()
  // Stripe's own check lets any time to come pass: such a message could be repeated for as long.
  const early = signedAt(signature) - Math.floor(time / 1_000)
  if (early <= TOLERANCE_SECONDS) {
    for (const secret of webhookSecrets) {
      try {
        return constructEvent(raw, signature, secret, TOLERANCE_SECONDS, undefined, time)
      } catch {
        // Another secret, or a header made to confuse: for that it throws other errors than its own. None of them may
        // be passed on, because they hold the whole message.
      }
    }
  }
  throw new Problem(
    'invalid_parameter',
    `Stripe-Signature: it does not fit this body, or is not of the last ${TOLERANCE_SECONDS} seconds.`,
  )
}

const constructEvent = Stripe.webhooks.constructEvent.bind(Stripe.webhooks)

/** The last one, as in Stripe's own reading: that is the one which was signed. */
function signedAt(signature: string): number {
  const [, time] = signature
    .split(',')
    .map((part) => part.split('='))
    .findLast(([name]) => name === 't') ?? [undefined, undefined]
  return Number.parseInt(time ?? '', 10)
}

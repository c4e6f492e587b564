import { Stripe } from 'stripe'
import { Problem } from '../core/problem.ts'

// Twice this is what a buyer may wait: less than the minute after which proxies give up.
const TIMEOUT_MS = 20_000
const RETRIES = 1
const RETRY_AFTER_SECONDS = 30

export function openClient({ secretKey, apiUrl }: { secretKey: string; apiUrl: string }): Stripe {
  return new Stripe(secretKey, {
    ...addressOf(apiUrl),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  })
}

function addressOf(apiUrl: string): Stripe.StripeConfig {
  if (apiUrl === '') return {}
  const { protocol, hostname, port } = new URL(apiUrl)
  const secure = protocol === 'https:'
  return {
    protocol: secure ? 'https' : 'http',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (secure ? 443 : 80),
  }
}

/** Runs what asks Stripe. Who waits hears only that it may work later; why it did not is for the operator's log. */
export async function asking<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof Stripe.errors.StripeError ? refusalOf(error) : error
  }
}

/** What Stripe answers for an id, or undefined when it knows none such. */
export async function ifKnown<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError && error.code === 'resource_missing') {
      return undefined
    }
    throw error
  }
}

function refusalOf(error: Stripe.errors.StripeError): Problem {
  if (error.code === 'email_invalid') {
    return new Problem('invalid_parameter', 'email: Stripe does not take this e-mail address.')
  }
  const problem = new Problem(
    'payment_unavailable',
    'The payment provider does not answer as it should. Try again in half a minute.',
    RETRY_AFTER_SECONDS,
  )
  return Object.assign(problem, { cause: new Error(reasonOf(error)) })
}

/** In our words: Stripe's error also holds headers and bodies, and its text may quote a key. */
function reasonOf({ type, statusCode, code, requestId, message }: Stripe.errors.StripeError) {
  const facts = [type, statusCode, code, requestId].filter((fact) => fact !== undefined).join(' ')
  return `Stripe: ${facts}: ${message.replace(/(?:[sr]k|whsec)_[\w*]+/g, '(hidden)')}`
}

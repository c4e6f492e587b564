import { createHmac } from 'node:crypto'
import { parseHost } from '../base/address.ts'
import { makeSecretToken, secretHash } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import { KEY_RANDOM_BYTES, makeId, makeKeyPrefix } from '../keys/rules.ts'
import type { Plan } from '../shared/plan.ts'
import type { ShopDeps } from './deps.ts'
import type { Order } from './rules.ts'
import { callingProvider } from './settle-order.ts'

type CheckoutDeps = Pick<ShopDeps, 'shop' | 'pay' | 'plans' | 'now' | 'randomBytes' | 'log'>

export interface CheckoutRequest {
  plan: string
  email: string | undefined
  /** The buyer's Idempotency-Key, with what identifies the buyer. */
  idempotency: Idempotency | undefined
  /** Origin of the buyer's request. */
  baseUrl: string
}

interface Idempotency {
  key: string
  client: string
}

export interface Checkout {
  order: Order
  url: string
  /** Returned once: only its hash is stored. */
  claimSecret: string
}

/** Stores an order, then opens the provider's checkout. The same Idempotency-Key gets the same response. */
export async function checkout(deps: CheckoutDeps, request: CheckoutRequest): Promise<Checkout> {
  const { shop, pay } = deps
  const { provider } = pay
  if (provider === 'manual') {
    throw new Problem(
      'not_found',
      'This site does not sell plans online. Ask the operator for a key.',
    )
  }
  const plan = findPlan(request.plan, deps.plans)
  const email = request.email === undefined ? undefined : parseBuyerEmail(request.email)
  const digest = request.idempotency && (await digester(deps, request.idempotency))
  const secretOf = claimSecrets(digest, deps.randomBytes)
  const draw = () => deps.randomBytes(KEY_RANDOM_BYTES)
  const id = makeId('ord', draw())
  const order = await shop.addOrder({
    id,
    provider,
    mode: pay.mode,
    plan,
    email,
    createdAt: deps.now(),
    keyId: makeId('key', draw()),
    keyPrefix: makeKeyPrefix(pay.mode, draw()),
    claimHash: secretHash(secretOf(id)),
    // Orders of another provider or mode are separate: payments there are not settled here.
    idempotencyHash: digest?.(['order', provider, pay.mode]),
  })
  requireSameOrder(order, { plan, email, provider, mode: pay.mode })
  const url = order.checkoutUrl || (await openCheckout(deps, order, request.baseUrl))
  return { order, url, claimSecret: secretOf(order.id) }
}

async function openCheckout(
  { shop, pay, log }: CheckoutDeps,
  { id, plan, email }: Order,
  baseUrl: string,
): Promise<string> {
  const opened = await callingProvider(log, () => pay.createCheckout({ id, plan, email, baseUrl }))
  await shop.saveCheckout(id, opened)
  return opened.url
}

function findPlan(id: string, plans: readonly Plan[]): Plan {
  const plan = plans.find((known) => known.id === id)
  if (plan) return plan
  const names = plans.map((known) => known.id).join(', ')
  throw new Problem('invalid_parameter', `plan: unknown plan. Choose one of: ${names}.`)
}

function requireSameOrder(
  order: Order,
  { plan, email, provider, mode }: Pick<Order, 'plan' | 'email' | 'provider' | 'mode'>,
): void {
  const isSame = order.plan.id === plan.id && order.email === email
  if (isSame && order.provider === provider && order.mode === mode) return
  throw new Problem(
    'idempotency_conflict',
    'Idempotency-Key: it was already used for another plan or email address.',
  )
}

/**
 * How the claim secret of an order is derived. A repeated request must return the same secret although it is not stored: then it
 * is derived from the Idempotency-Key.
 */
function claimSecrets(
  digest: Digest | undefined,
  randomBytes: CheckoutDeps['randomBytes'],
): (orderId: string) => string {
  if (digest) return (orderId) => digest(['claim', orderId])
  const secret = makeSecretToken(randomBytes(32))
  return () => secret
}

type Digest = (what: readonly string[]) => string

/** Keyed with a secret of ours, because the buyer's key may be guessable. */
async function digester(
  { shop, randomBytes }: CheckoutDeps,
  { key, client }: Idempotency,
): Promise<Digest> {
  const secret = await shop.installationSecret(randomBytes(32))
  // As JSON, so that different parts cannot concatenate to the same text.
  return (what) =>
    createHmac('sha256', secret)
      .update(JSON.stringify([what, key, client]))
      .digest('base64url')
}

const ATEXT = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const LOCAL = new RegExp(`^${ATEXT}(?:\\.${ATEXT})*$`)

/** Not one of our addresses: more characters are allowed, and case is preserved. */
function parseBuyerEmail(text: string): string {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const host = parseHost(text.slice(at + 1))
  if (local.length > 64 || !LOCAL.test(local) || !host?.includes('.')) {
    throw new Problem('invalid_parameter', 'email: not a valid email address.')
  }
  return `${local}@${host}`
}

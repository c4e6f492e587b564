import { createHmac } from 'node:crypto'
import { parseHost } from '../../core/address.ts'
import { makeSecretToken, secretHash } from '../../core/id.ts'
import { KEY_RANDOM_BYTES, makeKeyId, makeKeyPrefix, makeOrderId } from '../../core/key.ts'
import type { Log } from '../../core/log.ts'
import type { Plan } from '../../core/plan.ts'
import { Problem } from '../../core/problem.ts'
import type { Purchase } from '../../core/purchase.ts'
import type { PaymentProvider } from '../../pay/provider.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { callingProvider } from './settle-order.ts'

export interface CheckoutDeps {
  shop: Pick<ShopStore, 'addPurchase' | 'saveCheckout' | 'installationSecret'>
  pay: Pick<PaymentProvider, 'provider' | 'mode' | 'open'>
  plans: readonly Plan[]
  now(): Date
  randomBytes(count: number): Uint8Array
  log: Pick<Log, 'error'>
}

export interface CheckoutRequest {
  plan: string
  email: string | undefined
  /** The buyer's Idempotency-Key, and who the buyer is as far as we know. */
  repeat: Idempotency | undefined
  /** Where the buyer reached us. */
  baseUrl: string
}

interface Idempotency {
  key: string
  client: string
}

export interface Checkout {
  order: Purchase
  /** Where it is paid. */
  url: string
  /** Shown now and never again: only its hash is kept. */
  claimSecret: string
}

/** Keeps an order, then opens the provider's checkout for it. The same Idempotency-Key gets the same answer. */
export async function checkout(deps: CheckoutDeps, wish: CheckoutRequest): Promise<Checkout> {
  const { shop, pay } = deps
  const { provider } = pay
  if (provider === 'manual') {
    throw new Problem('not_found', 'This site sells no plans online. Ask its operator for a key.')
  }
  const plan = findPlan(wish.plan, deps.plans)
  const email = wish.email === undefined ? undefined : parseBuyerEmail(wish.email)
  const digest = wish.repeat && (await digester(deps, wish.repeat))
  const secretOf = claimSecrets(digest, deps.randomBytes)
  const draw = () => deps.randomBytes(KEY_RANDOM_BYTES)
  const id = makeOrderId(draw())
  const order = await shop.addPurchase({
    id,
    provider,
    mode: pay.mode,
    plan,
    email,
    createdAt: deps.now(),
    keyId: makeKeyId(draw()),
    keyPrefix: makeKeyPrefix(pay.mode, draw()),
    claimHash: secretHash(secretOf(id)),
    // An order of another provider or mode is another one: paid there, it would not be settled here.
    idempotencyHash: digest?.(['order', provider, pay.mode]),
  })
  requireSameOrder(order, { plan, email, provider, mode: pay.mode })
  const url = order.checkoutUrl || (await openCheckout(deps, order, wish.baseUrl))
  return { order, url, claimSecret: secretOf(order.id) }
}

async function openCheckout(
  { shop, pay, log }: CheckoutDeps,
  { id, plan, email }: Purchase,
  baseUrl: string,
): Promise<string> {
  const opened = await callingProvider(log, () => pay.open({ id, plan, email, baseUrl }))
  await shop.saveCheckout(id, opened)
  return opened.url
}

function findPlan(id: string, plans: readonly Plan[]): Plan {
  const plan = plans.find((known) => known.id === id)
  if (plan) return plan
  const names = plans.map((known) => known.id).join(', ')
  throw new Problem('invalid_parameter', `plan: there is no such plan. There are: ${names}.`)
}

function requireSameOrder(
  order: Purchase,
  { plan, email, provider, mode }: Pick<Purchase, 'plan' | 'email' | 'provider' | 'mode'>,
): void {
  const isAsked = order.plan.id === plan.id && order.email === email
  if (isAsked && order.provider === provider && order.mode === mode) return
  throw new Problem(
    'idempotency_conflict',
    'Idempotency-Key: it was used for an order of another plan or e-mail address.',
  )
}

/**
 * How the claim secret of an order is made. Whoever repeats a request must hear the same secret, though it is kept
 * nowhere: then it follows from what the request repeats.
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

/** Keyed, because the buyer's key may be guessed: without our secret it tells nothing. */
async function digester(
  { shop, randomBytes }: CheckoutDeps,
  { key, client }: Idempotency,
): Promise<Digest> {
  const secret = await shop.installationSecret(randomBytes(32))
  // As JSON, so that no two sets of parts run together into the same text.
  return (what) =>
    createHmac('sha256', secret)
      .update(JSON.stringify([what, key, client]))
      .digest('base64url')
}

const ATEXT = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const LOCAL = new RegExp(`^${ATEXT}(?:\\.${ATEXT})*$`)

/** Somebody else's address: more is allowed than in ours, and its case is left alone. */
function parseBuyerEmail(text: string): string {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const host = parseHost(text.slice(at + 1))
  if (local.length > 64 || !LOCAL.test(local) || !host?.includes('.')) {
    throw new Problem('invalid_parameter', 'email: this is no e-mail address.')
  }
  return `${local}@${host}`
}

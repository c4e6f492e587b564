import { hash } from 'node:crypto'
import { withTimeout } from '../base/jobs/repeat.ts'
import type { Redis } from '../redis/connect.ts'
import type { Limit, Rate } from './limit.ts'
import { evaluateRate, ROUNDING_MS } from './memory.ts'

interface RedisLimitOptions {
  redis: Redis
  /** Used while Redis is unavailable or slow. */
  local: Limit
  /** How long to wait for Redis. */
  timeoutMs?: number
}

const FALLBACK_MS = 1_000
// Keys outlive their time by this much, for nodes whose clocks differ and for slow tests.
const EXPIRY_SLACK_MS = 10_000

/**
 * Rates of several nodes, counted in Redis like `memory.ts` does. Requests do not wait for Redis: while it is unavailable, and
 * for a second after a timeout, the node counts locally. Losing Redis restores bursts and locks nobody out.
 */
export function openRedisLimit({ redis, local, timeoutMs = 100 }: RedisLimitOptions): Limit {
  let localUntil = 0

  /** Undefined if Redis did not respond in time. */
  async function query(command: () => Promise<unknown>): Promise<unknown> {
    if (performance.now() < localUntil) return undefined
    const answer = await withTimeout(
      timeoutMs,
      command().catch(() => UNAVAILABLE),
    )
    if (answer === undefined) localUntil = performance.now() + FALLBACK_MS
    return answer === UNAVAILABLE ? undefined : answer
  }

  return {
    async take(key, rate, now) {
      const values = [now.getTime(), stepOf(rate), rate.burst]
      const wait = await query(() => run(redis, TAKE, redisKey(key), values))
      return wait === undefined ? local.take(key, rate, now) : Number(wait)
    },
    async spend(key, amount, rate, now) {
      const step = stepOf(rate)
      const span = step * (rate.burst + (rate.overdraft ?? 0))
      const values = [now.getTime(), step * amount, span]
      const done = await query(() => run(redis, SPEND, redisKey(key), values))
      if (done === undefined) await local.spend(key, amount, rate, now)
    },
    async peek(key, rate, now) {
      const fullAt = await query(() => redis.send(['GET', redisKey(key)]))
      if (fullAt === undefined) return local.peek(key, rate, now)
      return fullAt === null ? 0 : evaluateRate(Number(fullAt), rate, now).waitMs
    },
    close: () => local.close(),
  }
}

/** evaluateRate in Lua. Lua numbers are stored with all their digits: no fraction of a step is lost. */
const TAKE = script(`
  local now, step, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local span = step * burst
  local before = tonumber(redis.call('GET', KEYS[1]) or now)
  local from = math.max(now, math.min(before, now + span))
  local wait = math.max(0, math.ceil(from + step - span - now - ${ROUNDING_MS}))
  local after = wait > 0 and from or from + step
  if after ~= before then
    redis.call('SET', KEYS[1], after, 'PX', math.ceil(after - now) + ${EXPIRY_SLACK_MS})
  end
  return wait`)

/** The same without a limit; the span includes the overdraft. */
const SPEND = script(`
  local now, cost, span = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local before = tonumber(redis.call('GET', KEYS[1]) or now)
  local from = math.max(now, math.min(before, now + span))
  local after = math.min(from + cost, now + span)
  redis.call('SET', KEYS[1], after, 'PX', math.ceil(after - now) + ${EXPIRY_SLACK_MS})
  return 0`)

function script(text: string) {
  return { text, sha1: hash('sha1', text) }
}

function stepOf({ seconds, count }: Rate): number {
  return (seconds * 1000) / count
}

async function run(
  redis: Redis,
  { text, sha1 }: ReturnType<typeof script>,
  name: string,
  values: readonly number[],
): Promise<unknown> {
  const rest = ['1', name, ...values.map(String)]
  try {
    return await redis.send(['EVALSHA', sha1, ...rest])
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return await redis.send(['EVAL', text, ...rest])
  }
}

/** Hashed, because keys contain client addresses. */
function redisKey(key: string): string {
  return `mayfly:rate:${hash('sha256', key, 'base64url').slice(0, 22)}`
}

const UNAVAILABLE = Symbol('unavailable')

// Known limit: node clocks are used, so a node whose clock is ahead shortens the allowance on the others by the difference.

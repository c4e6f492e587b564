import { Problem } from '../base/problem.ts'
import { matchesSender, parseSenderPattern, type SenderPattern } from './sender-pattern.ts'

/** What an address accepts; chosen when its session is created. */
export interface AddressRules {
  /** Accepted senders; empty: all. */
  onlyFrom: readonly SenderPattern[]
  /** Messages ever stored, including deleted ones; undefined: no limit. */
  maxMessages: number | undefined
}

export const NO_RULES: AddressRules = { onlyFrom: [], maxMessages: undefined }

export const MAX_SENDERS = 10
export const MAX_MESSAGES = 1_000

interface RulesInput {
  only_from?: string | undefined
  max_messages?: number | undefined
}

/** Throws `invalid_parameter`. The range of `max_messages` is that of the parameter. */
export function parseRules({
  only_from: senders,
  max_messages: maxMessages,
}: RulesInput): AddressRules {
  const onlyFrom = senders === undefined ? [] : parseSenderList(senders)
  if (onlyFrom) return { onlyFrom, maxMessages }
  throw new Problem(
    'invalid_parameter',
    `only_from: must be up to ${MAX_SENDERS} addresses or domains, separated by commas.`,
  )
}

/** Addresses and domains, separated by commas. Undefined if one is invalid, or there are too many. */
export function parseSenderList(text: string): SenderPattern[] | undefined {
  const texts = text.split(',', MAX_SENDERS + 1)
  if (texts.length > MAX_SENDERS) return undefined
  const senders = texts.map(parseSenderPattern).filter((one) => one !== undefined)
  return senders.length === texts.length ? [...new Set(senders)] : undefined
}

/** An address with rules, and how many messages were ever stored for it. */
export interface RuledAddress {
  rules: AddressRules
  received: number
}

/**
 * sender_not_allowed: not from this sender; limit_reached: it takes no more mail. By priority: a mail that nobody accepts after
 * DATA gets one reply, for the first of these reasons that applies to one of its recipients.
 */
export const RULE_REFUSALS = ['sender_not_allowed', 'limit_reached'] as const
export type RuleRefusal = (typeof RULE_REFUSALS)[number]

/** The From header of a mail. */
export interface FromHeader {
  /** Undefined if it has none, or several. */
  address: string | undefined
}

/** Why the rules refuse a mail; undefined if they accept it. Without `from`, before DATA, only the limit decides. */
export function ruleRefusal(
  { rules: { onlyFrom, maxMessages }, received }: RuledAddress,
  from?: FromHeader,
): RuleRefusal | undefined {
  if (maxMessages !== undefined && received >= maxMessages) return 'limit_reached'
  if (onlyFrom.length === 0 || from === undefined) return undefined
  const { address } = from
  const isAllowed = address !== undefined && onlyFrom.some((one) => matchesSender(one, address))
  return isAllowed ? undefined : 'sender_not_allowed'
}

// If in doubt, the rules refuse.
export const NOT_READ: FromHeader = { address: undefined }

import { Problem } from '../../base/problem.ts'
import { parseRules } from '../../shared/address-rules.ts'
import { parseLabel } from '../rules/session.ts'
import type { SessionChange } from '../store.ts'

const CLEARED = {
  only_from: { onlyFrom: undefined },
  max_messages: { maxMessages: undefined },
  label: { label: undefined },
} as const satisfies Record<string, SessionChange['set']>

type SettingName = keyof typeof CLEARED
export const SETTING_NAMES = Object.keys(CLEARED) as SettingName[]

interface ChangeInput {
  only_from?: string
  max_messages?: number
  label?: string
  /** Names of the others. */
  clear?: readonly string[]
}

/** Throws `invalid_parameter`, or `missing_parameter` if nothing is to be changed. */
export function parseChange({ clear = [], ...given }: ChangeInput): SessionChange['set'] {
  const { onlyFrom, maxMessages } = parseRules(given)
  const set: SessionChange['set'] = {
    ...(given.only_from === undefined ? {} : { onlyFrom }),
    ...(maxMessages === undefined ? {} : { maxMessages }),
    ...(given.label === undefined ? {} : { label: parseLabel(given.label) }),
  }
  for (const text of clear) {
    const name = text.trim()
    if (!isSetting(name)) {
      throw new Problem('invalid_parameter', 'clear: must be only_from, max_messages or label.')
    }
    if (given[name] !== undefined) {
      throw new Problem('invalid_parameter', `clear: ${name} cannot be set and removed.`)
    }
    Object.assign(set, CLEARED[name])
  }
  if (Object.keys(set).length > 0) return set
  const text = 'only_from, max_messages, label, clear: at least one is required.'
  throw new Problem('missing_parameter', text)
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(CLEARED, name)
}

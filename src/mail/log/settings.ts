import type { SettingReader } from '../../base/settings/settings.ts'
import { choice, integer } from '../../base/settings/values.ts'
import { MAIL_LOG_MODES } from './rules.ts'

const DAY_MS = 86_400_000

export function mailLogConfig({ setting }: SettingReader) {
  const mode = setting(
    'MAYFLY_MAIL_LOG',
    choice(...MAIL_LOG_MODES),
    'masked',
    'mail log, a line per mail and refused command: masked (senders by domain, recipients as l…n@domain), full (with whole addresses) or off',
  )
  const days = setting(
    'MAYFLY_MAIL_LOG_DAYS',
    integer(1, 365),
    '7',
    'how many days the mail log is kept, at most 1,000,000 lines',
  )
  // Off: what is left of it is deleted.
  return { mailLog: { mode, keptMs: mode === 'off' ? 0 : days * DAY_MS } }
}

import type { SettingReader } from '../base/settings/settings.ts'
import { flag } from '../base/settings/values.ts'

export function checksConfig({ setting }: SettingReader) {
  return {
    dailyChecks: setting(
      'MAYFLY_DAILY_CHECKS',
      flag,
      'on',
      'make the checks of mayfly doctor once a day; problems are logged and in /metrics',
    ),
  }
}

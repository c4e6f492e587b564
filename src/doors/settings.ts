import type { SettingReader } from '../base/settings/settings.ts'
import { choice } from '../base/settings/values.ts'

const door = choice('addy', 'mailtm')

export function doorConfig({ setting }: SettingReader) {
  return {
    doors: setting(
      'MAYFLY_DOORS',
      doorNames,
      '',
      'APIs of other services that their programs find here, separated by commas: addy (/api/v1/aliases, for password managers), mailtm (/compat/mailtm); see docs/doors.md',
    ),
  }
}

function doorNames(given: string): readonly ReturnType<typeof door>[] {
  const names = given.split(',').map((part) => part.trim())
  return names.filter((name) => name !== '').map(door)
}

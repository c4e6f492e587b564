import type { SettingReader } from '../base/settings/settings.ts'
import { choice } from '../base/settings/values.ts'
import { allowedTargets } from './target.ts'

export function webhookConfig({ setting }: SettingReader) {
  return {
    webhooks: {
      on:
        setting(
          'MAYFLY_WEBHOOKS',
          choice('keys', 'off'),
          'keys',
          'who may create webhooks: keys (every key holder), off (nobody; none are delivered)',
        ) === 'keys',
      allowed: setting(
        'MAYFLY_WEBHOOK_ALLOW',
        allowedTargets,
        '',
        'targets of webhooks that may be loopback, private or without TLS: host names, addresses or CIDR ranges',
      ),
    },
  }
}

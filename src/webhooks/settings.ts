import type { SettingReader } from '../base/settings/settings.ts'
import { choice, commaSeparated, duration } from '../base/settings/values.ts'
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
      retryDelaysMs: setting(
        'MAYFLY_WEBHOOK_RETRIES',
        retryDelays,
        '5s,30s,2m,10m,30m,1h',
        'delays before a failed delivery is retried, each from 1s to 1h; the last one repeats (for tests)',
      ),
    },
  }
}

function retryDelays(given: string): readonly number[] {
  const delays = commaSeparated(given)
  if (delays.length === 0) throw new Error('names no duration')
  return delays.map((one) => duration('1s', '1h')(one) * 1_000)
}

import type { SettingReader } from '../../base/settings/settings.ts'
import { choice, dnsServers, lifetime, size } from '../../base/settings/values.ts'

export function ownDomainConfig({ setting }: SettingReader) {
  return {
    ownDomains: {
      on:
        setting(
          'MAYFLY_OWN_DOMAINS',
          choice('off', 'keys'),
          'off',
          'who may receive mail at domains of their own: off (nobody), keys (key holders, as many as their plan allows)',
        ) === 'keys',
      maxBytes: setting(
        'MAYFLY_OWN_DOMAIN_BYTES',
        size('1KB'),
        '1GB',
        'maximum size of the mail at all domains of a key',
      ),
      mailTtlMs:
        1000 *
        setting(
          'MAYFLY_OWN_DOMAIN_MAIL_TTL',
          lifetime,
          '30d',
          'lifetime of mail at domains of key holders that belongs to a permanent address or to none',
        ),
      nameServers: setting(
        'MAYFLY_OWN_DOMAIN_DNS',
        dnsServers,
        '',
        'name servers of such domains that may have a private address, such as 10.0.0.53 or 127.0.0.1:5353; others must be public',
      ),
    },
  }
}

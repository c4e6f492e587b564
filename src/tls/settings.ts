import { parseAddress } from '../base/address.ts'
import type { SettingReader } from '../base/settings/settings.ts'
import { flag, httpUrl, port, quoted, text } from '../base/settings/values.ts'
import { isPublicName } from './rules.ts'

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'

export function acmeConfig({ setting, check }: SettingReader, { baseUrl }: { baseUrl: string }) {
  const on = setting(
    'MAYFLY_ACME',
    flag,
    'off',
    'obtain certificates from a CA by ACME, and serve HTTPS; on means that you agree to the terms of the CA',
  )
  const email = setting(
    'MAYFLY_ACME_EMAIL',
    emailAddress,
    '',
    'where the CA may write about certificates; required by MAYFLY_ACME=on',
  )
  const host = URL.parse(baseUrl)?.hostname ?? ''
  check(!on || email !== '', 'MAYFLY_ACME=on requires MAYFLY_ACME_EMAIL')
  check(
    !on || (baseUrl.startsWith('https:') && isPublicName(host)),
    'MAYFLY_ACME=on requires MAYFLY_BASE_URL=https://… with a public host name',
  )
  return {
    acme: {
      on,
      email,
      httpsPort: setting(
        'MAYFLY_HTTPS_PORT',
        port,
        '443',
        'port for HTTPS, with MAYFLY_ACME=on; the CA connects to port 80 or 443',
      ),
      directory: setting(
        'MAYFLY_ACME_DIRECTORY',
        httpUrl,
        LETS_ENCRYPT,
        'URL of the ACME directory of the CA',
      ),
      caFile: setting(
        'MAYFLY_ACME_CA_FILE',
        text,
        '',
        'certificates to trust in connections to the CA, besides public ones (PEM file)',
      ),
      // How often the names and their certificates are looked at.
      lookMs: 10_000,
    },
  }
}

function emailAddress(given: string): string {
  if (given === '' || parseAddress(given)) return given
  throw new Error(`${quoted(given)} is not an email address`)
}

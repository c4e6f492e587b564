import type { MailDomain } from '../base/address.ts'
import { type CheckResult, failure, ok, skipped, warning } from '../base/check-result.ts'
import { isoTimestamp } from '../base/time.ts'
import { type TlsConfig, tlsStorage, wantedNames } from './jobs.ts'
import { readAttempts, readCertificates } from './renew-certificates.ts'
import { type Attempts, NO_ATTEMPTS, renewalTime, type Validity } from './rules.ts'
import type { TlsStore } from './store.ts'

export interface AcmeCheckConfig extends TlsConfig {
  http: TlsConfig['http'] & { port: number }
  acme: TlsConfig['acme'] & { httpsPort: number }
}

interface Facts {
  settings: AcmeCheckConfig
  store: (Pick<TlsStore, 'listTlsEntries'> & { listDomains(): Promise<MailDomain[]> }) | undefined
  now(): Date
}

/** Check of `mayfly doctor`: whether every name has a certificate that is renewed in time. */
export const certificatesCheck = {
  name: 'acme',
  async run({ settings, store, now }: Facts): Promise<CheckResult> {
    if (!settings.acme.on) return skipped('MAYFLY_ACME=off')
    if (!store) return skipped('see store')
    const unreadable: string[] = []
    const storage = tlsStorage(settings, store, (path, error) => {
      unreadable.push(`${path} cannot be read: ${error.message}`)
    })
    const [names, { certificates }, attempts] = await Promise.all([
      store.listDomains().then((domains) => wantedNames(settings, domains)),
      readCertificates(storage),
      readAttempts(storage),
      // For its file only.
      storage.listTlsEntries('account'),
    ])
    const [first] = unreadable
    if (first !== undefined) return failure(first, UNREADABLE_FIX)
    const ports = { httpPort: settings.http.port, httpsPort: settings.acme.httpsPort }
    const facts = names.map((name) => {
      const certificate = certificates.get(name)
      return { name, certificate, attempts: attempts.get(name) ?? NO_ATTEMPTS }
    })
    return evaluateCertificates(facts, { ...ports, now: now() })
  },
}

const UNREADABLE_FIX =
  'Let the user of the service read it: a certificate is not replaced meanwhile, and after a restart the self-signed one is used. If you delete a .pem, its name gets a new key: then update TLSA records'

interface NameFacts {
  name: string
  certificate: Validity | undefined
  attempts: Attempts
}

interface CheckFacts {
  httpPort: number
  httpsPort: number
  now: Date
}

/** The worst of all names. */
export function evaluateCertificates(
  names: readonly NameFacts[],
  { httpPort, httpsPort, now }: CheckFacts,
): CheckResult {
  const isValid = ({ certificate }: NameFacts) => certificate && certificate.notAfter > now
  const isOverdue = ({ certificate, attempts }: NameFacts) =>
    certificate && renewalTime(certificate, attempts, now) <= now && attempts.failures > 0
  // Others may only wait for the rate limit of the one that failed.
  const [missing] = names
    .filter((one) => !isValid(one))
    .toSorted((one, other) => other.attempts.failures - one.attempts.failures)
  const late = names.find(isOverdue)
  const fix = `Make DNS name this machine for ${(missing ?? late)?.name}, and let everybody reach its ports 80 (here ${httpPort}) and 443 (here ${httpsPort}): http://${(missing ?? late)?.name}/.well-known/acme-challenge/x must be a 404 of this service`
  if (missing && missing.attempts.failures === 0 && !missing.certificate)
    return warning(
      `${missing.name}: none yet`,
      'Wait a minute; if the service does not run, start it',
    )
  const expired = missing?.certificate ? 'expired; ' : ''
  if (missing) return failure(`${missing.name}: ${expired}${lastError(missing)}`, fix)
  if (late) return warning(`${late.name}: not renewed: ${lastError(late)}`, fix)
  const ends = names.flatMap(({ certificate }) => certificate?.notAfter.getTime() ?? [])
  return ok(`${names.length} names, until ${isoTimestamp(new Date(Math.min(...ends)))} or later`)
}

function lastError({ attempts: { error, nextAt } }: NameFacts): string {
  return `${error || 'no attempt'}; next attempt at ${isoTimestamp(new Date(nextAt))}`
}

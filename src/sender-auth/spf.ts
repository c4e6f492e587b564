import type { DNSResolver } from 'mailauth'
import { spf } from 'mailauth/lib/spf/index.js'
import { CHECK_RESULTS } from '../core/message.ts'
import type { Answer, Part } from './job.ts'

/** Whether the domain of MAIL FROM, or of HELO for `<>`, lets this client send for it. */
export async function checkSpf(
  { clientIp, helo, mailFrom }: Extract<Part, { kind: 'spf' }>,
  resolver: DNSResolver,
): Promise<Extract<Answer, { kind: 'spf' }>> {
  // RFC 7208 7.3: the name of who checks is nobody's business.
  const { status, domain } = await spf({
    ip: clientIp,
    helo,
    sender: mailFrom,
    mta: 'unknown',
    resolver,
  })
  const result = CHECK_RESULTS.find((one) => one === status.result) ?? 'permerror'
  return { kind: 'spf', result, domain }
}

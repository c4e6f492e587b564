import { domainToASCII } from 'node:url'
import type { DNSResolver } from 'mailauth'
import { dmarc } from 'mailauth/lib/dmarc/index.js'
import type { CheckResult } from '../core/message.ts'
import type { Answer, Part } from './job.ts'

const RESULTS: readonly CheckResult[] = ['pass', 'fail', 'none', 'temperror', 'permerror']

/** Whether the domain of the author stands behind the mail, as its owner has asked receivers to judge. */
export async function checkDmarc(
  { authors, fromFields, shown, passed }: Extract<Part, { kind: 'dmarc' }>,
  resolver: DNSResolver,
): Promise<Extract<Answer, { kind: 'dmarc' }>> {
  const found = await dmarc({
    headerFrom: authors,
    fromFields,
    spfDomains: passed.spf,
    dkimDomains: passed.dkim.map((domain) => ({ domain })),
    resolver,
  })
  // No author, authors of several domains, or several From headers: nobody can vouch for whom a reader sees.
  if (!found) return { kind: 'dmarc', result: 'fail' }
  // Two readers of one header may see two authors. What passed for one says nothing about the other.
  if (domainOf(shown) !== trimmed(found.status.header?.from))
    return { kind: 'dmarc', result: 'fail' }
  return {
    kind: 'dmarc',
    result: RESULTS.find((one) => one === found.status.result) ?? 'permerror',
  }
}

function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  // An address in brackets is no name.
  return trimmed(domainToASCII(domain) || domain)
}

function trimmed(domain: string | false | undefined): string {
  return (domain || '').toLowerCase().replace(/\.$/, '')
}

import type { CheckResult, SenderChecks } from '../core/message.ts'
import type { SenderFacts } from '../core/sender.ts'
import type { Settle } from './settle.ts'

/** All three checks of one mail. A check that the mail itself makes impossible is a permerror: asking again would not help. */
export async function judge(
  settle: Settle,
  { clientIp, helo, mailFrom, shown, raw, receivedAt }: SenderFacts,
): Promise<SenderChecks> {
  const [spf, dkim] = await Promise.all([
    settle<'spf'>({ kind: 'spf', clientIp, helo, mailFrom }),
    settle<'dkim'>({ kind: 'dkim', raw, receivedAt }),
  ])
  const results = { spf: spf?.result ?? 'permerror', dkim: dkim?.result ?? 'permerror' }
  // Who the author is, the reader of the signatures knows.
  if (!dkim) return { ...results, dmarc: 'permerror' }
  const { authors, fromFields } = dkim
  const passed = { spf: spf?.result === 'pass' ? [spf.domain] : [], dkim: dkim.domains }
  const dmarc = await settle<'dmarc'>({ kind: 'dmarc', authors, fromFields, shown, passed })
  return { ...results, dmarc: unlessOpen(dmarc?.result ?? 'permerror', results) }
}

/** What did not pass may pass once the DNS answers. */
function unlessOpen(dmarc: CheckResult, { spf, dkim }: Omit<SenderChecks, 'dmarc'>): CheckResult {
  return dmarc === 'fail' && (spf === 'temperror' || dkim === 'temperror') ? 'temperror' : dmarc
}

import { openDnsServer, type Zone } from '../../../test/kit/dns/dns-server.ts'
import type { LogFacts } from '../../base/log/log.ts'
import { openMailSandbox } from '../../mime/parser.ts'
import type { SandboxOptions } from '../../sandbox/pool.ts'
import type { SenderCheckInput } from '../../shared/mail.ts'
import { type CheckerOptions, openChecker } from '../checker.ts'
import { openDns } from '../dns.ts'

export const SAMPLE_MAIL = [
  'From: Ann <ann@sender.test>',
  'To: you@box.test',
  'Subject: Hello',
  '',
  'Private words.',
  '',
].join('\r\n')

type Facts = Partial<Omit<SenderCheckInput, 'raw'>> & { raw?: string | Uint8Array }
export type Fixture = Awaited<ReturnType<typeof openFixture>>

export type Options = Partial<CheckerOptions> & Pick<Partial<SandboxOptions>, 'limits' | 'script'>

/** A checker with a real child and its own name server. */
export async function openFixture(zone: Zone, { limits, script, ...options }: Options = {}) {
  const server = await openDnsServer(zone)
  const lines: string[] = []
  const at = (level: string) => (facts: LogFacts, sentence: string) => {
    lines.push(`${level}: ${sentence} ${JSON.stringify(facts)}`)
  }
  const dns = openDns({ servers: [server.server], now: () => new Date() })
  const log = { warn: at('warn'), error: at('error') }
  const sandbox = openMailSandbox({
    children: 1,
    ...(limits && { limits }),
    ...(script && { script }),
  })
  const checker = openChecker({ dns, log, sandbox, ...options })

  return {
    zone,
    asked: server.asked,
    lines,
    check: (facts: Facts = {}, priority?: 'background') =>
      checker.check(
        {
          clientIp: '192.0.2.1',
          helo: 'mail.sender.test',
          mailFrom: 'ann@sender.test',
          shown: 'ann@sender.test',
          receivedAt: new Date(),
          ...facts,
          raw: Buffer.from(facts.raw ?? SAMPLE_MAIL),
        },
        priority,
      ),
    async close() {
      checker.close()
      await sandbox.close()
      await server.close()
    },
  }
}

import { availableParallelism } from 'node:os'
import { freeLarge } from '../base/free-large.ts'
import type { Log } from '../base/log/log.ts'
import { openParseOnce, type ParseRequest } from '../mail/read/parse-once.ts'
import { openMailSandbox, openParser } from '../mime/parser.ts'
import { childIsolation } from '../sandbox/isolation.ts'
import type { SandboxOptions } from '../sandbox/pool.ts'
import { openChecker } from '../sender-auth/checker.ts'
import { openDns } from '../sender-auth/dns.ts'
import type { SenderCheckInput } from '../shared/mail.ts'
import type { Store } from '../store/store.ts'
import type { Config } from './config.ts'

interface ChildrenDeps {
  store: Store
  log: Log
  now(): Date
  parsing: Partial<SandboxOptions>
}

/** The child processes that handle untrusted input, and the commands that threads may call. */
export function openChildren(
  { senderChecks, memory }: Config,
  { store, log, now, parsing }: ChildrenDeps,
) {
  const limits = { memoryMb: memory.childMb }
  // On two cores, two children take each other's time, and the memory of both.
  const reserve = availableParallelism() > 2 ? 0 : memory.children - 1
  const sandbox = openMailSandbox({ children: memory.children, reserve, limits, ...parsing })
  const parser = openParser({ log, sandbox })
  const parse = openParseOnce({ store, parser })
  const { kind: isolation } = childIsolation()
  if (isolation === 'none' && process.platform === 'linux')
    log.warn(
      { isolation },
      'neither another user nor a PID namespace is possible for processes that parse mail: one that a mail took over could stop the service; see docs/security.md, "Isolation of child processes"',
    )
  else log.debug({ isolation }, 'isolation of child processes')
  const dns = openDns({ servers: senderChecks.dns, now })
  const checker = openChecker({ dns, log, sandbox, maxBytes: memory.checkBytes })
  return {
    parse,
    commands: {
      parse: ({ rawId, request }: { rawId: number; request: ParseRequest }, signal: AbortSignal) =>
        parse(rawId, request, signal),
      async checkSender({ priority, ...facts }: SenderCheckInput & { priority?: 'background' }) {
        const checks = await checker.check(facts, priority)
        freeLarge(facts.raw)
        return checks
      },
    },
    async close() {
      parser.close()
      checker.close()
      await sandbox.close()
    },
  }
}

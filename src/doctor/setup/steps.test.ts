import { expect, test } from 'vitest'
import type { Host } from '../../base/address.ts'
import type { Answers } from './answers.ts'
import type { Machine } from './machine.ts'
import { nextSteps } from './steps.ts'
import { NEW } from './testing/new-machine.ts'

const ANSWERS: Answers = {
  domains: ['a.test' as Host],
  host: 'mx.a.test' as Host,
  url: 'https://a.test',
  email: undefined,
  addresses: [],
  acmeEmail: undefined,
}

const used = { state: 'in use', seen: '' } as const
const ACME = { ...ANSWERS, acmeEmail: 'ann@a.test' }
const free = { port80: NEW.port443 }

test.each<[string, Partial<Machine>, Answers, string[], string[]]>([
  [
    'a backup is part of the first start of the Debian package',
    {},
    ANSWERS,
    ['Start the service:       systemctl enable --now mayfly mayfly-backup.timer'],
    ['Back up'],
  ],
  [
    'a clone under systemd needs a folder for backups',
    { command: 'npm run mayfly --' },
    ANSWERS,
    [
      'Start the service:       systemctl enable --now mayfly',
      'Back up each day:        set MAYFLY_BACKUP to',
    ],
    ['timer'],
  ],
  [
    'so does every other installation',
    { file: '/home/ann/mayfly.config.json' },
    ANSWERS,
    ['Back up each day:        set MAYFLY_BACKUP to a folder'],
    ['timer'],
  ],
  [
    'backups that are made need no step',
    { hasBackup: true },
    ANSWERS,
    ['Start the service:       systemctl enable --now mayfly'],
    ['timer', 'Back up'],
  ],
  ['nor does a running service', { isRunning: true }, ANSWERS, [], ['timer', 'Back up']],
  [
    'certificates by the service itself need both ports of a web server',
    { port80: used, port443: used },
    ACME,
    [
      'Stop the program that uses port 80, or set MAYFLY_HTTP_PORT.',
      'Stop the program that uses port 443, or set MAYFLY_HTTPS_PORT.',
    ],
    [],
  ],
  [
    'but not the port that is used without them',
    { ...free, portHttp: used, file: '/home/ann/mayfly.config.json' },
    ACME,
    ['Start the service:       mayfly serve (as root, or with CAP_NET_BIND_SERVICE)'],
    ['Stop the program'],
  ],
  [
    'nor ports that are forwarded',
    { port80: used, port443: used, isHttpPortGiven: true, isHttpsPortGiven: true },
    ACME,
    [],
    ['Stop the program'],
  ],
  [
    'a running service that has had a proxy needs its ports',
    { port80: used, port443: used, isRunning: true },
    ACME,
    ['Stop the program that uses port 80,', 'Stop the program that uses port 443,'],
    [],
  ],
  [
    'but not its own again',
    { port80: used, port443: used, isRunning: true, hasAcme: true, isHttpPortGiven: true },
    ACME,
    [],
    ['Stop the program'],
  ],
])('%s', (_, changed, answers, expected, unexpected) => {
  const machine = { ...NEW, ...changed }
  const isMoved = answers.acmeEmail !== undefined && !machine.isHttpPortGiven
  const settings: Record<string, string> = isMoved ? { MAYFLY_HTTP_PORT: '80' } : {}
  const steps = nextSteps(machine, answers, { mtaSts: false, settings })
  for (const step of expected) expect(steps).toContainEqual(expect.stringContaining(step))
  for (const text of unexpected) expect(steps.join('\n')).not.toContain(text)
})

test('ports and DNS come before the start, after which the CA looks for them', () => {
  const steps = nextSteps({ ...NEW, ...free }, ACME, { mtaSts: false, settings: {} })
  const [reach, start] = ['ports 80 and 443', 'Start the service'].map((text) =>
    steps.findIndex((step) => step.includes(text)),
  )
  expect(start).toBe((reach ?? 0) + 1)
})

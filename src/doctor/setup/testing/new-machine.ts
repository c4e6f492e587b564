import type { Machine } from '../machine.ts'

const FREE = { state: 'free', seen: '' } as const

/** A new machine with the settings file of a package. */
export const NEW: Machine = {
  file: '/etc/mayfly/mayfly.env',
  command: 'mayfly',
  isRoot: true,
  addresses: ['203.0.113.7'],
  hasNetwork: true,
  reverseNames: [],
  hasDns: true,
  smtpPort: 2525,
  isSmtpPortGiven: false,
  isHttpPortGiven: false,
  isHttpsPortGiven: false,
  httpPort: 8080,
  port25: FREE,
  portHttp: FREE,
  // Of a proxy.
  port80: { state: 'in use', seen: '' },
  port443: FREE,
  isRunning: false,
  isInUse: false,
  namesInFile: ['MAYFLY_DOMAINS', 'MAYFLY_SMTP_HOSTNAME'],
  domains: ['box.example.org'],
  hostname: 'mx.example.org',
  isHostnameGiven: true,
  baseUrl: '',
  trustProxy: [],
  reportEmail: undefined,
  mailOut: { url: '', from: '' },
  hasMtaSts: false,
  hasAcme: false,
  hasAdminToken: true,
  hasBackup: false,
  isFileOfRoot: false,
  supportTexts: [],
}

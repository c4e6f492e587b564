import type { Machine } from './setup.ts'

/** Names of examples and templates: nobody owns them. */
export const isPlaceholder = (name: string) => /(?:^|\.)example(?:\.(?:com|net|org))?$/.test(name)

const DEFAULT_SMTP_PORT = 2525

/** Only for a new installation: the others may have a redirection, and a service that may not listen on port 25. */
export function takesPort25({ smtpPort, isSmtpPortGiven, port25, domains }: Machine): boolean {
  const isNew = domains.every(isPlaceholder)
  return isNew && smtpPort === DEFAULT_SMTP_PORT && !isSmtpPortGiven && port25 === 'free'
}

/** Of the systemd unit, which may listen on port 25. */
const UNIT_FILE = '/etc/mayfly/mayfly.env'

/** What remains to be done by hand. */
export function nextSteps(machine: Machine, url: string, mtaSts: boolean): string[] {
  const { command, port25, smtpPort, httpPort } = machine
  const isRedirected = smtpPort !== 25 && !takesPort25(machine)
  const steps = [
    port25 === 'in use' && 'Stop the other mail server that uses port 25.',
    machine.isHttpPortTaken &&
      `Stop the program that uses port ${httpPort}, or set MAYFLY_HTTP_PORT.`,
    startStep(machine),
    isRedirected && `Redirect port 25 to ${smtpPort}: see "Port 25" in docs/install.md`,
    url.startsWith('https:') &&
      `Put HTTPS in front of port ${httpPort}: see "Behind Caddy or nginx" in docs/install.md`,
    mtaSts &&
      'Send HTTPS requests for mta-sts.DOMAIN there too, and enforce the policy after some weeks: see "MTA-STS" in docs/tls.md',
    `Check the installation:  ${command} doctor`,
  ]
  return steps.filter((step) => step !== false)
}

/** Settings are read when the service starts. */
function startStep(machine: Machine): string {
  const { file, command, isRunning, isRoot } = machine
  if (file === UNIT_FILE) {
    return isRunning
      ? 'Restart the service:     systemctl restart mayfly'
      : 'Start the service:       systemctl enable --now mayfly'
  }
  if (isRunning) return `Restart the service:     stop it, then ${command} serve`
  const note = isRoot && takesPort25(machine) ? ' (as root, or with CAP_NET_BIND_SERVICE)' : ''
  return `Start the service:       ${command} serve${note}`
}

import { isExampleName } from '../../base/address.ts'
import type { Answers } from './answers.ts'
import type { Machine } from './machine.ts'

const DEFAULT_SMTP_PORT = 2525

/** Only for a new installation: the others may have a redirection, and a service that may not listen on port 25. */
export function takesPort25(machine: Machine): boolean {
  const { smtpPort, isSmtpPortGiven, port25, domains, isInUse } = machine
  const isNew = domains.every(isExampleName) && !isInUse
  return isNew && smtpPort === DEFAULT_SMTP_PORT && !isSmtpPortGiven && port25.state === 'free'
}

/** The file of the systemd unit, which may listen on port 25. */
const UNIT_FILE = '/etc/mayfly/mayfly.env'

/** What remains to be done by hand. */
export function nextSteps(
  machine: Machine,
  { url, host, acmeEmail }: Answers,
  { mtaSts, settings }: { mtaSts: boolean; settings: Readonly<Record<string, string>> },
): string[] {
  const { port25, smtpPort, httpPort } = machine
  const isReached = smtpPort === 25 || port25.state === 'this service' || takesPort25(machine)
  const isOtherHost = host !== machine.hostname
  const isRenamed = machine.hasMtaSts && isOtherHost
  const usesAcme = acmeEmail !== undefined || machine.hasAcme
  const steps = [
    port25.state === 'in use' && 'Stop the other mail server that uses port 25.',
    ...webPortSteps(machine, { usesAcme, settings }),
    isOtherHost &&
      settings['MAYFLY_SMTP_HOSTNAME'] === undefined &&
      `Set MAYFLY_SMTP_HOSTNAME=${host}: the MX records need the name of this machine in DNS.`,
    isRenamed &&
      'The MTA-STS policy names the new host from the restart on: before it, see "MTA-STS" in docs/tls.md',
    machine.isFileOfRoot &&
      !machine.hasAdminToken &&
      'Let the service read the admin token, unless it runs as root: chgrp GROUP, then chmod 640',
    // The first attempt follows the start at once.
    usesAcme &&
      'Let everybody reach ports 80 and 443: the CA connects to them. Wait until DNS names this machine: after a failure, the next attempt is two minutes later.',
    startStep(machine, { usesAcme }),
    !machine.isRunning &&
      !machine.hasBackup &&
      !isPackage(machine) &&
      'Back up each day:        set MAYFLY_BACKUP to a folder: see "Backup and restore" in docs/operations.md',
    !isReached && `Redirect port 25 to ${smtpPort}: see "Port 25" in docs/install.md`,
    ...(usesAcme
      ? [mtaSts && 'Enforce the MTA-STS policy after some weeks: see "MTA-STS" in docs/tls.md']
      : proxySteps(url, { httpPort, mtaSts })),
    `Check the installation:  ${checkCommand(machine)}`,
  ]
  return steps.filter((step) => step !== false)
}

function proxySteps(url: string, { httpPort, mtaSts }: { httpPort: number; mtaSts: boolean }) {
  return [
    url.startsWith('https:') &&
      `Put HTTPS in front of port ${httpPort}: see "Behind Caddy or nginx" in docs/install.md`,
    mtaSts &&
      'Send HTTPS requests for mta-sts.DOMAIN there too, and enforce the policy after some weeks: see "MTA-STS" in docs/tls.md',
  ]
}

/** Other programs on the ports for HTTP and HTTPS: those that the service uses now are its own. */
function webPortSteps(
  machine: Machine,
  { usesAcme, settings }: { usesAcme: boolean; settings: Readonly<Record<string, string>> },
) {
  const { portHttp, port80, port443, httpPort, isRunning, hasAcme, isHttpsPortGiven } = machine
  const isMoved = settings['MAYFLY_HTTP_PORT'] === '80'
  const isHttpUsed = isMoved ? port80.state === 'in use' : portHttp.state === 'in use' && !isRunning
  const isHttpsUsed = port443.state === 'in use' && !(isRunning && hasAcme)
  return [
    isHttpUsed &&
      `Stop the program that uses port ${isMoved ? 80 : httpPort}, or set MAYFLY_HTTP_PORT.`,
    usesAcme &&
      !isHttpsPortGiven &&
      isHttpsUsed &&
      'Stop the program that uses port 443, or set MAYFLY_HTTPS_PORT.',
  ]
}

/** The Debian package, which has a timer for backups. */
function isPackage({ file, command }: Machine): boolean {
  return file === UNIT_FILE && command === 'mayfly'
}

/** The unit of a clone has settings and data that a command in the clone does not use by itself. */
function checkCommand(machine: Machine): string {
  const isClone = machine.file === UNIT_FILE && !isPackage(machine)
  return isClone ? 'doctor, as in "Clone" in docs/install.md' : `${machine.command} doctor`
}

/** Settings are read when the service starts. */
function startStep(machine: Machine, { usesAcme }: { usesAcme: boolean }): string {
  const { file, command, isRunning, isRoot, hasBackup } = machine
  if (file === UNIT_FILE) {
    const timer = isPackage(machine) && !hasBackup ? ' mayfly-backup.timer' : ''
    return isRunning
      ? 'Restart the service:     systemctl restart mayfly'
      : `Start the service:       systemctl enable --now mayfly${timer}`
  }
  if (isRunning) return `Restart the service:     stop it, then ${command} serve`
  const isPrivileged = usesAcme || (isRoot && takesPort25(machine))
  const note = isPrivileged ? ' (as root, or with CAP_NET_BIND_SERVICE)' : ''
  return `Start the service:       ${command} serve${note}`
}

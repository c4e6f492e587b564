import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The command line of an installed unit: as its user, with its directory, environment and capabilities. */
export function unitCommand(root: string, name: string): string[] {
  const unit = readFileSync(join(root, 'lib/systemd/system', name), 'utf8')
  const setting = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
  const words = (key: string) => setting(key).split(' ').filter(Boolean)
  const settings = readFileSync(join(root, setting('EnvironmentFile')), 'utf8')
  const capabilities = words('CapabilityBoundingSet').map((one) => one.replace('CAP_', '+'))
  const kept = ['-all', ...capabilities].join().toLowerCase()
  return [
    ...['setpriv', '--reuid', setting('User'), '--regid', setting('Group'), '--clear-groups'],
    ...['--no-new-privs', '--bounding-set', kept, '--inh-caps', kept, '--ambient-caps', kept],
    ...['--pdeathsig', 'KILL', 'env', '-C', setting('WorkingDirectory')],
    ...words('Environment'),
    ...(settings.match(/^\w+=.*$/gm) ?? []),
    ...words('ExecStart'),
  ]
}

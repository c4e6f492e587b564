import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** Programs that the tests run besides npm packages: Debian package and purpose. None is started as a service. */
export const PROGRAMS = {
  curl: ['curl', 'runs the commands that the documentation prints'],
  swaks: ['swaks', 'a third-party SMTP client'],
  'smtp-source': ['postfix', 'a third-party SMTP load generator'],
  strace: ['strace', 'proves that a mail is on disk before its 250'],
  openssl: ['openssl', 'makes and verifies certificates'],
  python3: ['python3', 'runs the sample of the key page'],
  'pytest-3': ['python3-pytest', 'runs the tests of the Python client'],
  mypy: ['mypy', 'checks the types of the Python client'],
  pip3: ['python3-pip', 'installs the Python client'],
  'chromium-headless-shell': ['chromium-headless-shell', 'opens the pages'],
  chromium: ['chromium', 'runs the extension, which the headless shell cannot'],
  'firefox-esr': ['firefox-esr', 'opens the pages'],
  WebKitWebDriver: ['webkit2gtk-driver', 'drives WebKit'],
  MiniBrowser: ['libwebkit2gtk-4.1-0', 'opens the pages in WebKit'],
  Xvfb: ['xvfb', 'a display for that'],
  pdftotext: ['poppler-utils', 'reads what a browser prints'],
  postgres: ['postgresql', 'the second store engine'],
  'redis-server': ['redis-server', 'notifications and rate limits across nodes'],
  pgbouncer: ['pgbouncer', 'a connection pooler in front of PostgreSQL'],
  haproxy: ['haproxy', 'a load balancer in front of the nodes'],
  dovecot: ['dovecot-imapd', 'a mail account to fetch from'],
  knotd: ['knot', 'a name server with the zones of mail domains'],
  pebble: ['pebble', 'a certificate authority'],
  'pebble-challtestsrv': ['pebble', 'a name server for that'],
  ip: ['iproute2', 'addresses of a private network'],
  mmdebstrap: ['mmdebstrap', 'a Debian to install the package in'],
  buildah: ['buildah', 'builds the container image'],
  runc: ['runc', 'runs the container image'],
  mandoc: ['mandoc', 'checks the manual page'],
  'systemd-analyze': ['systemd', 'checks the unit'],
} as const satisfies Record<string, readonly [debianPackage: string, purpose: string]>

/** Those that only `npm run campaign` runs. */
export const CAMPAIGN_PROGRAMS = {
  patroni: ['patroni python3-etcd', 'a PostgreSQL that fails over'],
  etcd: ['etcd-server', 'the leader lock of that'],
  nft: ['nftables', 'drops packets'],
  faketime: ['faketime', 'moves clocks'],
  gcc: ['gcc libc6-dev', 'compiles a file system that tears writes'],
  'pkg-config': ['pkg-config', 'finds the library for that'],
} as const satisfies Record<string, readonly [debianPackages: string, purpose: string]>

export type Program = keyof typeof PROGRAMS

const { PATH = '', MAYFLY_TEST_WITHOUT = '' } = process.env
// Debian installs servers in folders that are not in every user's PATH.
const FOLDERS = [
  ...PATH.split(':'),
  '/usr/local/sbin',
  '/usr/sbin',
  '/usr/lib/postgresql/17/bin',
  '/usr/lib/postgresql/15/bin',
  '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1',
  '/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1',
]

/** The path of a program. Test files that need a missing program are left out, see left-out.ts. */
export function program(name: Program): string {
  const path = find(name)
  if (path === undefined) throw new Error(`${name} is missing (Debian: ${PROGRAMS[name][0]})`)
  return path
}

export function missingPrograms(): Program[] {
  return (Object.keys(PROGRAMS) as Program[]).filter((name) => find(name) === undefined)
}

function find(name: Program): string | undefined {
  return MAYFLY_TEST_WITHOUT.split(',').includes(name) ? undefined : findProgram(name)
}

export function findProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

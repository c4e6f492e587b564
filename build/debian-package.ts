import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { changelog, releaseDate } from './changelog.ts'
import { bashCompletion, manualPage } from './manual.ts'
import { type Architecture, makeReadable, stageRuntime } from './runtime.ts'
import { ROOT } from './sources.ts'

const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm']
const PROGRAM = 'usr/lib/mayfly'
const UNITS = ['mayfly.service', 'mayfly-backup.service', 'mayfly-backup.timer'] as const
/** What the settings, the units and messages of the program refer to. */
const DOCUMENTS = [...globSync('docs/*.md', { cwd: ROOT }), 'deploy/mayfly.service.d/many.conf']

/** Builds mayfly_VERSION_ARCHITECTURE.deb with the runtime inside; the path of the package. */
export function buildDebianPackage(target: string, architecture: Architecture, version: string) {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-deb-'))
  try {
    stageRuntime(join(folder, PROGRAM), architecture)
    const write = (path: string, content: string | Uint8Array, mode = 0o644) => {
      const file = join(folder, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content, { mode })
    }
    write(`${PROGRAM}/defaults.env`, defaults())
    write('usr/bin/mayfly', deployed('debian/mayfly'), 0o755)
    write('etc/mayfly/mayfly.env', deployed('mayfly.env'))
    for (const name of UNITS) write(`lib/systemd/system/${name}`, packagedUnit(name))
    const manual = manualPage(version, releaseDate(changelog()))
    write('usr/share/man/man1/mayfly.1.gz', gzipSync(manual, { level: 9 }))
    write('usr/share/bash-completion/completions/mayfly', bashCompletion(version))
    write('usr/share/doc/mayfly/changelog.gz', gzipSync(changelog(), { level: 9 }))
    write('usr/share/doc/mayfly/copyright', read('LICENSE'))
    for (const path of DOCUMENTS) write(`usr/share/doc/mayfly/${basename(path)}`, read(path))
    write('DEBIAN/control', control(architecture, version, sizeOf(folder)))
    write('DEBIAN/conffiles', '/etc/mayfly/mayfly.env\n')
    for (const name of SCRIPTS) write(`DEBIAN/${name}`, deployed(`debian/${name}`), 0o755)
    makeReadable(folder)
    chmodSync(join(folder, 'etc/mayfly/mayfly.env'), 0o640)
    const file = join(target, `mayfly_${version}_${architecture}.deb`)
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z12', '--build', folder, file], {
      stdio: 'pipe',
    })
    return file
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const read = (path: string) => readFileSync(`${ROOT}${path}`, 'utf8')
const deployed = (name: string) => read(`deploy/${name}`)

/** A unit of deploy/ with the paths of the package, and without how to install it by hand. */
function packagedUnit(name: (typeof UNITS)[number]): string {
  return deployed(name)
    .replace(/^[\s\S]*?(?=\[Unit\])/, '')
    .replace('/opt/mayfly/docs/scaling.md', '/usr/share/doc/mayfly/install.md')
    .replace('/opt/mayfly/docs/', '/usr/share/doc/mayfly/')
    .replace('=/opt/mayfly\n', '=/var/lib/mayfly\n')
    .replace('bin/mayfly.js', `/${PROGRAM}/bin/mayfly.js`)
    .replaceAll('/opt/mayfly/', `/${PROGRAM}/`)
}

/** The settings of the unit that its file of settings may change, for the command. */
function defaults(): string {
  const [, settings = ''] = /^Environment=(.*)$/m.exec(packagedUnit('mayfly.service')) ?? []
  return `${settings.replaceAll(' ', '\n')}\n`
}

function sizeOf(folder: string): string {
  return execFileSync('du', ['-sk', folder], { encoding: 'utf8' }).split('\t')[0] ?? ''
}

/** From the variables that Debian's own tools use. */
function maintainer(): string {
  const { DEBFULLNAME = 'Mayfly contributors', DEBEMAIL = 'mayfly@localhost' } = process.env
  return `${DEBFULLNAME} <${DEBEMAIL}>`
}

function control(architecture: Architecture, version: string, size: string): string {
  return `Package: mayfly
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer()}
Installed-Size: ${size}
Depends: libatomic1, libc6 (>= 2.28), libgcc-s1, libstdc++6, passwd, util-linux
Section: mail
Priority: optional
Description: self-hosted disposable email service
 Mayfly receives mail over SMTP, stores it until the mailbox expires, and
 serves it through a web page and a JSON API. The Node.js that it runs on is
 part of the package.
`
}

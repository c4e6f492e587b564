import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { ROOT } from './app/service-process.ts'

/** What runs: no tests and no test helpers. */
const FOR_TESTS = /\.(test|contract)\.ts$|\/(fixtures|testing|contract)\//

/** A copy of the product without one folder of src, and without the lines outside that name something of it. */
export function copyWithout(feature: string, folder: string): void {
  const files = execFileSync('git', ['ls-files', 'src', 'clients/js/src', 'package.json'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const path of files.trim().split('\n')) {
    if (FOR_TESTS.test(path) || path.startsWith(`src/${feature}/`)) continue
    const target = join(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    if (path.endsWith('.ts')) writeFileSync(target, withoutFeature(path, feature))
    else cpSync(join(ROOT, path), target)
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const tsconfig = { extends: `${ROOT}/tsconfig.json`, include: ['src'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
}

function withoutFeature(path: string, feature: string): string {
  const source = readFileSync(join(ROOT, path), 'utf8')
  return withoutLines(source, (target) =>
    posix.join(posix.dirname(path), target).startsWith(`src/${feature}/`),
  )
}

/** Removes the imports of these files, and each line, or entry after `extends`, that names what they import. */
export function withoutLines(source: string, isGone: (target: string) => boolean): string {
  const names: string[] = []
  const rest = source.replaceAll(
    /^import (?:type )?\{([^}]*)\} from '(\.[^']+)'\n/gm,
    (statement, list: string, target: string) => {
      if (!isGone(target)) return statement
      names.push(...list.split(',').flatMap((name) => name.trim().split(' ').at(-1) || []))
      return ''
    },
  )
  if (names.length === 0) return source
  const named = new RegExp(`\\b(?:${names.join('|')})\\b`)
  const without = (separator: string) => (list: string) =>
    list
      .split(separator)
      .filter((entry) => !named.test(entry))
      .join(separator)
  return rest
    .replaceAll(/(?<=^export type \w+ = )[\w\s&]+(?=\n\n)/gm, without(' &'))
    .replaceAll(/(?<=\bextends )[^{]*(?= \{)/g, without(','))
    .split('\n')
    .filter((line) => !named.test(line))
    .join('\n')
}

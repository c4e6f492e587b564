import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'
import { missingPrograms, PROGRAMS, type Program } from './programs/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Test files that need a missing program, by its name. */
export type LeftOut = ReadonlyMap<Program, readonly string[]>

export function filesLeftOut(missing: readonly Program[] = missingPrograms()): LeftOut {
  if (missing.length === 0) return new Map()
  const files = globSync('{src,test,web}/**/*.test.ts', { cwd: ROOT }).sort()
  const needs = new Map(files.map((file) => [file, programsOf(join(ROOT, file))]))
  return new Map(
    missing.map((name) => [name, files.filter((file) => needs.get(file)?.has(name))] as const),
  )
}

/** The programs that a test file or one of its helpers passes to `program`. */
function programsOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return new Set()
  seen.add(file)
  const source = readFileSync(file, 'utf8')
  const named = [...source.matchAll(/\bprogram\('([\w-]+)'\)/g)].map(([, name = '']) => name)
  const imported = [...source.matchAll(/^(?:import|\}) (?!type ).*from '(\.[^']*\.ts)'$/gm)]
    .map(([, path = '']) => join(dirname(file), path))
    .filter((path) => !relative(ROOT, path).startsWith('src/') || path.includes('/testing/'))
  return new Set([...named, ...imported.flatMap((path) => [...programsOf(path, seen)])])
}

/**
 * Ends the run with a list of what was left out and why. In CI, a missing program is a failure; tests that the machine does not
 * permit fail there by themselves, see skip.ts.
 */
export function reportLeftOut(leftOut: LeftOut): Reporter {
  return {
    onTestRunEnd(modules) {
      const lines = [...leftOut].flatMap(([name, files]) => {
        const [debianPackage, purpose] = PROGRAMS[name]
        const why = `${name} is missing (${purpose}; Debian: ${debianPackage})`
        return [`  ${why}: ${files.length} files`, ...files.map((file) => `    ${file}`)]
      })
      lines.push(...modules.flatMap(skippedWithReason))
      if (lines.length > 0) process.stderr.write(`\nLeft out:\n${lines.join('\n')}\n`)
      if (leftOut.size > 0 && process.env['CI']) process.exitCode = 1
    },
  }
}

function skippedWithReason({ children, relativeModuleId }: TestModule): string[] {
  return [...children.allTests('skipped')].flatMap((test) => {
    const result = test.result()
    const reason = result.state === 'skipped' && result.note
    return reason ? [`  ${reason}: ${relativeModuleId}: ${test.fullName}`] : []
  })
}

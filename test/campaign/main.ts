import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { ROOT } from '../../build/sources.ts'
import { removeTempFolders } from '../kit/store/stores.ts'
import type { Batch, Part } from './part.ts'
import { PARTS } from './parts.ts'
import {
  addBatch,
  currentCommit,
  doneBefore,
  findingsOf,
  type Results,
  readResults,
  thisMachine,
  writeResults,
} from './results.ts'
import { duration, format, renderTables, withTables } from './tables.ts'

// npm run campaign [-- --part NAME …] [--quick]: attacks the promises until every part has reached its goal. After each batch
// the results are saved, and a later call goes on from there; the tables of docs/reliability.md are written from them.
// `--quick` checks within ten minutes that every part works; it saves nothing.

const MAX_FAILURES = 3
const RESULTS = 'test/campaign/results.json'
const DOCUMENT = 'docs/reliability.md'

// What must not be left behind, such as mounts, is removed when the process exits; the folders that they are in, after that.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    process.once('exit', removeTempFolders)
    process.exit(1)
  })
}

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, part: { type: 'string', multiple: true } },
})
const { quick = false, part: names = [] } = options
const commit = currentCommit(ROOT, [RESULTS, DOCUMENT])
const unknown = names.filter((name) => !PARTS.some((part) => part.name === name))

if (unknown.length > 0) {
  const known = PARTS.map(({ name }) => name).join(', ')
  process.stderr.write(`Unknown part: ${unknown.join(', ')}. Available: ${known}\n`)
  process.exitCode = 1
} else if (commit.endsWith('+') && !quick) {
  process.stderr.write('Results are saved with their commit: commit your changes first.\n')
  process.exitCode = 1
} else {
  const selected = PARTS.filter(({ name }) => names.length === 0 || names.includes(name))
  let results = readSaved({})
  for (const part of selected) results = await runPart(part, results, commit)
  const findings = findingsOf(
    results,
    selected.map(({ name }) => name),
  )
  process.stdout.write(`\n${renderTables(selected, results)}\n`)
  process.stdout.write(`${findings.length} findings\n${findings.join('\n')}\n`)
  if (findings.length > 0) process.exitCode = 1
  // Whatever a part has left must not keep it from ending.
  process.exit()
}

async function runPart(part: Part, before: Results, commit: string): Promise<Results> {
  const { name, unit, batch } = part
  const goal = quick ? part.quickGoal : part.goal
  const problem = part.problem?.()
  if (problem !== undefined) {
    process.stdout.write(`${name}: left out: ${problem}\n`)
    process.exitCode = 1
    return before
  }
  let results = before
  const first = doneBefore(results, name)
  const started = performance.now()
  let failures = 0
  for (let done = first; done < goal; done = doneBefore(results, name)) {
    const startedBatch = performance.now()
    const count = Math.min(batch, goal - done)
    const order = { count, done, report: (text: string) => show(`${name}: ${text}`) }
    const result = await part.run(order).catch(failedBatch)
    const seconds = (performance.now() - startedBatch) / 1_000
    for (const finding of result.findings) process.stdout.write(`${name}: FOUND: ${finding}\n`)
    mustBe(commit)
    const day = new Date().toISOString().slice(0, 10)
    results = addBatch(readSaved(results), name, result, {
      commit,
      machine: thisMachine(),
      seconds,
      day,
    })
    if (!quick) save(results)
    const now = doneBefore(results, name)
    const pace = (performance.now() - started) / 1_000 / (now - first)
    const left = now < goal ? `, about ${duration((goal - now) * pace)} left` : ''
    failures = result.done === 0 ? failures + 1 : 0
    // It would fail again, and the other parts are to run.
    if (failures === MAX_FAILURES) break
    if (failures > 0) continue
    process.stdout.write(
      `${clear()}${name}: ${format(now)} of ${format(goal)} ${unit} in ${duration((now - first) * pace)}${left}\n`,
    )
  }
  return results
}

/** The services of a batch are started from the checkout, again and again. */
function mustBe(commit: string): void {
  if (currentCommit(ROOT, [RESULTS, DOCUMENT]) !== commit)
    throw new Error(`${commit} has been changed: this batch is not saved`)
}

/** A part that cannot go on is a finding itself. */
function failedBatch(error: unknown): Batch {
  return { done: 0, counts: {}, findings: [`${error}`] }
}

/** Read anew for each batch: another campaign may be running other parts. */
function readSaved(results: Results): Results {
  return quick ? results : readResults(join(ROOT, RESULTS))
}

function save(results: Results): void {
  writeResults(join(ROOT, RESULTS), results)
  const document = join(ROOT, DOCUMENT)
  if (!existsSync(document)) return
  const text = readFileSync(document, 'utf8')
  writeFileSync(document, withTables(text, renderTables(PARTS, results)))
}

/** A line that the next one replaces, on a terminal only. */
function show(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`${clear()}${text}`)
}

function clear(): string {
  return process.stdout.isTTY ? '\r\u001b[K' : ''
}

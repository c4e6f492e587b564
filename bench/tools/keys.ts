import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// A quota that no run exhausts, without a daily limit.
const PLAN = { id: 'bench', name: 'Bench', price_cents: 0, requests: 1_000_000_000 }

/** The setting of a service with a plan that has no limits. */
export function unlimitedPlan(folder: string): { MAYFLY_PLANS_FILE: string } {
  const file = join(folder, 'plans.json')
  writeFileSync(file, JSON.stringify([PLAN]))
  return { MAYFLY_PLANS_FILE: file }
}

/** Issues a key of that plan. */
export function issueKey(env: Record<string, string>): string {
  const program = fileURLToPath(new URL('../../bin/mayfly.js', import.meta.url))
  const args = [program, 'key', 'issue', '--plan', PLAN.id, '--json']
  const output = execFileSync(process.execPath, args, { env: { ...process.env, ...env } })
  return (JSON.parse(String(output)) as { key: string }).key
}

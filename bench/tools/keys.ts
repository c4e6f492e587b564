import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A quota that no run exhausts, without a daily limit. */
export const UNLIMITED = 'bench'
const PLAN = { id: UNLIMITED, name: 'Bench', price_cents: 0, requests: 1_000_000_000 }

/** The setting of a service with that plan. */
export function unlimitedPlan(folder: string): { MAYFLY_PLANS_FILE: string } {
  const file = join(folder, 'plans.json')
  writeFileSync(file, JSON.stringify([PLAN]))
  return { MAYFLY_PLANS_FILE: file }
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Issues a key as the operator does, beside the running service. */
export function issueKey(plan: string, env: Record<string, string>, root = ROOT): string {
  const args = [join(root, 'bin/mayfly.js'), 'key', 'issue', '--plan', plan, '--json']
  const output = execFileSync(process.execPath, args, { env: { ...process.env, ...env } })
  return (JSON.parse(String(output)) as { key: string }).key
}

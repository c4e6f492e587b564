import { note } from './report.ts'

/**
 * Runs every contestant once per round, and once before that does not count, so that all are warm. Each round starts
 * with another one: what the machine does meanwhile, and what the one before left in its caches, falls on all of them.
 * Where each run is on a fresh copy nothing would stay warm: then `warm` is false.
 */
export async function alternate<C extends { name: string }, R>(
  contestants: readonly C[],
  rounds: number,
  run: (contestant: C) => Promise<R>,
  warm = true,
): Promise<Map<string, R[]>> {
  const results = new Map<string, R[]>(contestants.map(({ name }) => [name, []]))
  for (let round = warm ? 0 : 1; round <= rounds; round += 1) {
    const shift = round % contestants.length
    for (const one of [...contestants.slice(shift), ...contestants.slice(0, shift)]) {
      note(`  ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}: ${one.name}`)
      const result = await run(one)
      if (round > 0) results.get(one.name)?.push(result)
    }
  }
  return results
}

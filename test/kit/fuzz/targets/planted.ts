import { bytesOf } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

/** Faults that the runner must find: for its own test. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    'hang!',
    ...Array(60)
      .keys()
      .map((at) => `harmless ${at}`),
    'I throw',
    'so slow!',
  ]),
  tokens: [],
  maxBytes: 64,
  hangMs: 500,
  maxCost: 20,
  run(input) {
    const text = input.toString('latin1')
    check(!text.includes('throw'), 'a planted error')
    while (text.includes('hang'));
    spin(text.includes('slow') ? 30_000_000 : 30_000)
  },
}

function spin(rounds: number): number {
  let sum = 0
  for (let round = 0; round < rounds; round += 1) sum = (sum + round) | 0
  return sum
}

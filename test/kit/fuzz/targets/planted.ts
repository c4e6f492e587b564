import { check, type FuzzTarget } from '../target.ts'

let runs = 0

/** Faults that the runner must find: for its own test. */
export const target: FuzzTarget = {
  seeds: [
    ...['hang!', 'a crash', 'harmless', 'hang: not as the first'],
    ...Array.from({ length: 60 }, (_, at) => `harmless ${at}`),
    ...['I throw', 'so slow!'],
  ].map((text) => Buffer.from(text)),
  tokens: [],
  maxBytes: 64,
  hangMs: 1_000,
  run(input) {
    runs += 1
    const text = input.toString('latin1')
    check(!text.includes('throw'), 'a planted error')
    if (text.includes('crash')) process.kill(process.pid, 'SIGKILL')
    while (text.includes('hang') && (runs > 1 || !text.includes('not')));
    spin(text.includes('slow') ? 30_000_000 : 30_000)
    return text.includes('harmless')
  },
}

function spin(rounds: number): number {
  let sum = 0
  for (let round = 0; round < rounds; round += 1) sum = (sum + round) | 0
  return sum
}

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

// The options of all programs: `npm run bench` gives each program all of them, and each uses its own.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    part: { type: 'string', multiple: true },
    json: { type: 'string' },
    minutes: { type: 'string' },
    release: { type: 'string' },
  },
})

export const options = values
export const { quick } = values
/** The other checkout. */
export const against = values.against === undefined ? undefined : resolve(values.against)
export const names = positionals

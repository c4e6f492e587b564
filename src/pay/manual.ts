import { Problem } from '../core/problem.ts'
import type { Pay } from './pay.ts'

/** Keys are issued by the operator, who is paid in ways of their own. */
export function openManual(): Pay {
  return {
    provider: 'manual',
    mode: 'live',
    async open() {
      throw new Problem('not_found', 'This site sells no plans online. Ask its operator for a key.')
    },
    book: undefined,
  }
}

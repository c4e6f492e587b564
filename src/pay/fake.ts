import type { Pay } from './pay.ts'

/** A shop to try: its pay page is ours, and a click pays. */
export function openFake(): Pay {
  return {
    provider: 'fake',
    mode: 'test',
    open: async ({ id, baseUrl }) => ({ ref: `fake_${id}`, url: `${baseUrl}/pay/${id}` }),
    book: undefined,
  }
}

import type { Address } from '../../core/address.ts'
import type { AccountOptions } from '../options.ts'

export const ANN = 'ann@mail.test' as Address
export const PASSWORD = 'canary-password-7Q'

/** An account on a server of this machine that pauses only as long as a test may take. */
export function testAccountAt(port: number, changes: Partial<AccountOptions> = {}): AccountOptions {
  return {
    email: ANN,
    host: '127.0.0.1',
    port,
    tls: false,
    login: { password: PASSWORD },
    deleteAfterFetch: false,
    ...changes,
    tempo: {
      asked: 1,
      answer: 5_000,
      pause: { lost: 5, throttled: 40, login: 20, longest: 40 },
      ...changes.tempo,
    },
  }
}

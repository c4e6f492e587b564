import { hash, timingSafeEqual } from 'node:crypto'
import { countWrong, lookRate, type RateDeps, takeRate } from '../../service/rates.ts'
import { bearerOf } from './credentials.ts'
import type { Call } from './route.ts'

interface AdminDeps extends RateDeps {
  /** Empty: none is set, and everybody may see what the operator sees. */
  adminToken: string
}

/**
 * True if the caller is the operator, or if no admin token is set. The operator's requests with the right token are not
 * counted; all others are, and wrong tokens once more, so that nobody can guess or flood.
 */
export async function isOperatorCall(deps: AdminDeps, call: Call): Promise<boolean> {
  const { client, headers } = call
  const given = bearerOf(headers.authorization)
  if (deps.adminToken !== '' && given !== undefined) {
    // Also for the right token: else a guess would be answered.
    if (client !== undefined) await lookRate(deps, 'wrongAdminToken', client)
    if (isSame(given, deps.adminToken)) return true
    if (client !== undefined) await countWrong(deps, 'wrongAdminToken', client)
  }
  if (client !== undefined) await takeRate(deps, 'health', client)
  return deps.adminToken === ''
}

/** Hashes have one length, and comparing them takes the same time whatever was right. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}

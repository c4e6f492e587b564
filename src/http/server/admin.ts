import { hash, timingSafeEqual } from 'node:crypto'
import { countWrong, lookRate, type RateNeeds, takeRate } from '../../service/rates.ts'
import { bearerOf } from './credentials.ts'
import type { Call } from './route.ts'

interface AdminNeeds extends RateNeeds {
  /** Empty: none is set, and everybody may see what the operator sees. */
  adminToken: string
}

/**
 * True if the caller is the operator, or if no admin token is set. The operator's requests with the right token are not
 * counted; all others are, and wrong tokens once more, so that nobody can guess or flood.
 */
export async function isOperatorCall(needs: AdminNeeds, call: Call): Promise<boolean> {
  const { client, headers } = call
  const given = bearerOf(headers.authorization)
  if (needs.adminToken !== '' && given !== undefined) {
    // Also for the right token: else a guess would be answered.
    if (client !== undefined) await lookRate(needs, 'wrongAdminToken', client)
    if (isSame(given, needs.adminToken)) return true
    if (client !== undefined) await countWrong(needs, 'wrongAdminToken', client)
  }
  if (client !== undefined) await takeRate(needs, 'health', client)
  return needs.adminToken === ''
}

/** Hashes have one length, and comparing them takes the same time whatever was right. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}

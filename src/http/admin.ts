import { hash, timingSafeEqual } from 'node:crypto'
import { lookRate, type RateNeeds, takeRate } from '../service/rates.ts'
import { bearerOf } from './bearer.ts'
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
    if (client !== undefined) await countWrong(needs, client)
  }
  if (client !== undefined) await takeRate(needs, 'health', client)
  return needs.adminToken === ''
}

async function countWrong(needs: RateNeeds, client: string): Promise<void> {
  await takeRate(needs, 'wrongAdminToken', client)
  await lookRate(needs, 'wrongAdminToken', client)
}

/** Hashes have one length, and comparing them takes the same time whatever was right. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}

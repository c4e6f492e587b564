import type { Address } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { checkRate, takeRate } from '../../http/server/rates.ts'
import type { Message } from '../../mail/rules/message.ts'
import type { Caller, KeyAuthDeps } from '../authenticate-key.ts'
import { withCharge } from '../charge.ts'
import type { ApiKey } from '../rules.ts'
import { type EmailsDeps, keyScope } from './emails.ts'

type ReadEmailDeps = KeyAuthDeps & Pick<EmailsDeps, 'store' | 'poolAccess'>

interface EmailRequest {
  key: ApiKey
  caller: Caller
  id: number
  to: Address | undefined
}

/**
 * Charges one request and reads a message that the key may see. Whatever else is requested gets the same problem and is not
 * charged, also a part that the message does not have: otherwise the key would learn for free that there is such a message.
 */
export async function readEmail<T extends object>(
  deps: ReadEmailDeps,
  { key, caller, id, to }: EmailRequest,
  read: (message: Message) => Promise<T>,
): Promise<T> {
  const isLimited = caller.client !== undefined
  if (isLimited) await checkRate(deps, 'unknownEmail', key.id)
  const [message] = await deps.store.readKeyMail(keyScope(deps, { keyId: key.id, to }), [id])
  const found =
    message && (await withCharge(deps, { key, caller }, () => read(message)).catch(noPart))
  if (found) return found
  if (isLimited) await takeRate(deps, 'unknownEmail', key.id)
  throw new Problem('message_not_found', 'There is no such message or attachment.')
}

/** The message was deleted meanwhile, or has no such attachment. */
function noPart(error: unknown): undefined {
  const isNotFound = error instanceof Problem && /^(?:message_)?not_found$/.test(error.code)
  if (!isNotFound) throw error
}

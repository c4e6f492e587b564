import { apiKeyBesideToken } from '../../http/server/credentials.ts'
import type { ServerDeps } from '../../http/server/deps.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { authenticateSessionKey, type KeyAuthDeps } from '../authenticate-key.ts'
import type { ApiKey } from '../rules.ts'
import { pricingUrl } from './quota-headers.ts'

/** The key of a request that creates a session; undefined if it has none. */
export async function findSessionKey(
  deps: KeyAuthDeps & Pick<ServerDeps, 'baseUrl'>,
  request: HttpRequest,
): Promise<ApiKey | undefined> {
  const keyText = apiKeyBesideToken(request.headers)
  if (keyText === undefined) return undefined
  const { client } = request
  return await authenticateSessionKey(deps, { keyText, client, shopUrl: pricingUrl(deps, request) })
}

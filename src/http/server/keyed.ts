import type { ApiKey } from '../../core/key.ts'
import type { Caller } from '../../service/keys/authenticate-key.ts'
import { keyOf } from './credentials.ts'
import type { RouteDeps } from './deps.ts'
import { quotaHeaders } from './quota-headers.ts'
import type { Call } from './route.ts'
import { siteUrl } from './site.ts'

/** Who asks, as the services want to know it. What is left of the key goes with every answer from then on. */
export function readerOf(deps: RouteDeps, call: Call): Caller {
  return {
    keyText: keyOf(call.headers),
    client: call.client,
    shopUrl: shopUrl(deps, call),
    seen: (key) => call.tell(() => quotaHeaders(key, deps.now())),
  }
}

export function shopUrl({ baseUrl }: Pick<RouteDeps, 'baseUrl'>, call: Call): string {
  return `${siteUrl(baseUrl, call)}/pricing`
}

/** The key that `admit` found. */
export function admittedKey({ key }: Call): ApiKey {
  if (!key) throw new Error('this route was answered without admitting anybody')
  return key
}

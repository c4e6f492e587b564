import { makeSecretToken, secretHash } from '../base/id.ts'
import type { AdminSessionStore } from './session-store.ts'

// A sign-in of the operator to the admin page. The browser holds a random id, the store its hash.

export interface OperatorSessionDeps {
  shop: AdminSessionStore
  now(): Date
  randomBytes(count: number): Uint8Array
  adminToken: string
}

export const OPERATOR_SESSION_SECONDS = 12 * 3_600
const ID_BYTES = 32

/** The id of a new sign-in. The caller has checked the admin token. */
export async function signIn(deps: OperatorSessionDeps): Promise<string> {
  const id = makeSecretToken(deps.randomBytes(ID_BYTES))
  const expiresAt = new Date(deps.now().getTime() + OPERATOR_SESSION_SECONDS * 1_000)
  await deps.shop.addAdminSession({ hash: hashOf(deps, id), expiresAt })
  return id
}

export async function isSignedIn(
  deps: Omit<OperatorSessionDeps, 'randomBytes'>,
  id: string,
): Promise<boolean> {
  return await deps.shop.hasAdminSession(hashOf(deps, id), deps.now())
}

export async function signOut(
  deps: Omit<OperatorSessionDeps, 'randomBytes' | 'now'>,
  id: string,
): Promise<void> {
  await deps.shop.deleteAdminSession(hashOf(deps, id))
}

/** Depends on the token as well, so that a new token ends every sign-in. */
function hashOf({ adminToken }: Pick<OperatorSessionDeps, 'adminToken'>, id: string): string {
  return secretHash(`${id} ${adminToken}`)
}

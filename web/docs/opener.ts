import { signal } from '@preact/signals'
import { heldKey, holdKey } from '../key/held-key.ts'
import { keptInTab } from '../site/kept-in-tab.ts'
import type { Operation } from './operation.ts'

/** What the calls are opened with: given once for all of them, and forgotten with this tab. */
const heldToken = signal(keptInTab.find('token') ?? '')
// The operator's is not kept at all.
const adminToken = signal('')

export function secretOf(opens: Operation['opens']): string {
  if (opens === 'token') return heldToken.value.trim()
  if (opens === 'key') return heldKey.value.trim()
  return opens === 'admin' ? adminToken.value.trim() : ''
}

export function holdSecret(opens: Operation['opens'], secret: string): void {
  if (opens === 'key') holdKey(secret)
  if (opens === 'admin') adminToken.value = secret
  if (opens !== 'token') return
  heldToken.value = secret
  keptInTab.keep('token', secret === '' ? undefined : secret)
}

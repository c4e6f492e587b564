import { current } from './mailboxes.ts'

/** The address and all that can be done with it. */
export function AddressBar() {
  return <section>{current.value?.email}</section>
}

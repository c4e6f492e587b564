import { keptInTab } from '../site/kept-in-tab.ts'

/** What shows the key of an order. It stays in this tab and is in no address that a server sees. */
export function claimSecret(orderId: string) {
  const name = `claim ${orderId}`
  return {
    find: () => keptInTab.find(name),
    /** False when the browser refuses: then it is known until the page is left. */
    keep: (secret: string) => keptInTab.keep(name, secret),
  }
}

import { browser } from './browser.ts'
import type { Watch } from './watch.ts'

export interface Server {
  /** Without a slash at the end. */
  url: string
  key?: string
  /** For new addresses; else the server chooses. */
  domain?: string
}

/** What a message has for the form that was filled. */
export interface Found {
  id: number
  code: string | null
  link: { url: string; host: string } | null
  /** The domain of the sender, and what DMARC says of it. */
  sender: string
  badge: 'proven' | 'forged' | 'unproven'
  at: number
  /** Filled in, copied, opened or dismissed. */
  isUsed: boolean
}

export interface Address {
  id: string
  server: string
  email: string
  token: string
  /** As siteOf names it; empty if it was made elsewhere. */
  site: string
  expiresAt: number
  isPermanent: boolean
  /** It was deleted elsewhere, or has another token now: it cannot be restored here. */
  isUnknown?: boolean
  lastId: number
  latest?: Found
}

export interface Data {
  servers: Server[]
  addresses: Address[]
  watches: Watch[]
}

/** Tokens and keys are not for content scripts, which run in the process of a page. Firefox cannot keep them from reading this storage. */
export function protectStorage(): void {
  void browser.storage.local.setAccessLevel?.({ accessLevel: 'TRUSTED_CONTEXTS' })
}

export async function readData(): Promise<Data> {
  const { servers = [], addresses = [] } = await browser.storage.local.get(['servers', 'addresses'])
  const { watches = [] } = await browser.storage.session.get(['watches'])
  return { servers, addresses, watches } as Data
}

let last: Promise<unknown> = Promise.resolve()

/** Changes run one after the other, all in the background script: storage has no transactions. */
export function changeData<Result>(change: (data: Data) => Result): Promise<Result> {
  const next = last.then(async () => {
    const data = await readData()
    const before = structuredClone(data)
    const result = change(data)
    for (const name of ['servers', 'addresses', 'watches'] as const) {
      // Firefox reports every value that is set as a change.
      if (JSON.stringify(data[name]) === JSON.stringify(before[name])) continue
      const area = name === 'watches' ? browser.storage.session : browser.storage.local
      await area.set({ [name]: data[name] })
    }
    return result
  })
  last = next.catch(() => undefined)
  return next
}

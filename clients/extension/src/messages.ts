import { browser } from './browser.ts'
import type { Server } from './store.ts'
import { t } from './texts.ts'

// What the scripts of the extension say to each other. Tokens are in none of it: pages and content scripts name an address by its id.

/** What a page may offer to fill in. The background script opens the link. */
export interface Offer {
  id: string
  code: string | null
  link: { host: string } | null
  sender: string
  badge: 'proven' | 'forged' | 'unproven'
}

/** An address as the popup shows it. */
export interface AddressView {
  id: string
  email: string
  site: string
  server: string
  expiresAt: number
  isPermanent: boolean
  offer?: Offer
}

export interface PopupState {
  site: string | undefined
  /** Whether the button is shown there; undefined if that cannot be chosen. */
  isAllowed: boolean | undefined
  /** URLs; the first is the one for new addresses at this site. */
  servers: string[]
  addresses: AddressView[]
}

/** Messages of a content script, with their answers. */
export interface ContentRequests {
  hello: { request: object; answer: { isAllowed: boolean; offer: Offer | null } }
  'new-address': { request: object; answer: string }
  used: { request: { id: string }; answer: null }
  'open-link': { request: { id: string }; answer: null }
}

/** Messages of the popup and the options. */
export interface PageRequests {
  state: { request: { tabId: number | undefined }; answer: PopupState }
  refresh: { request: { tabId: number | undefined }; answer: null }
  create: {
    request: { tabId: number | undefined; server: string; prefix: string; domain: string }
    answer: { email: string; isFilled: boolean }
  }
  'fill-code': { request: { tabId: number; id: string }; answer: boolean }
  used: { request: { id: string }; answer: null }
  'open-link': { request: { id: string }; answer: null }
  open: { request: { id: string }; answer: null }
  extend: { request: { id: string }; answer: null }
  delete: { request: { id: string }; answer: null }
  domains: { request: { server: string }; answer: string[] }
  servers: { request: object; answer: Server[] }
  'save-server': { request: { server: Server; former?: string | undefined }; answer: null }
  'default-server': { request: { url: string }; answer: null }
  'remove-server': { request: { url: string }; answer: null }
}

/** Messages to a content script, with their answers. */
export type ContentCommand =
  | { type: 'hello' }
  | { type: 'find'; isHere?: boolean }
  | { type: 'fill'; email: string; isHere?: boolean }
  | { type: 'offer'; offer: Offer }
  | { type: 'fill-code'; code: string }
  | { type: 'note'; text: string }

type Requests = ContentRequests & PageRequests

/** Throws the sentence to show. */
export async function ask<Type extends keyof Requests>(
  type: Type,
  request: Requests[Type]['request'],
): Promise<Requests[Type]['answer']> {
  const answer = await browser.runtime.sendMessage({ ...request, type })
  const { value, error } = (answer ?? { error: t('site_server_error') }) as {
    value: Requests[Type]['answer']
    error?: string
  }
  if (error !== undefined) throw new Error(error)
  return value
}

/** What a page may offer to fill in. The background script opens the link. */
export interface Offer {
  /** Of the address. */
  id: string
  messageId: number
  code: string | null
  link: { host: string } | null
  sender: string
  badge: 'proven' | 'forged' | 'unproven'
}

/** Names what was offered, in requests about it. */
export type Offered = Pick<Offer, 'id' | 'messageId'>

/** An address as the popup shows it. */
export interface AddressView {
  id: string
  email: string
  site: string
  expiresAt: number
  isPermanent: boolean
  isUnknown: boolean
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

/** What the background script tells a content script. A command with a site is for its pages only: the tab may be elsewhere by then. */
export type ContentCommand =
  | { type: 'reload-state' }
  | { type: 'find'; site: string; isHere?: boolean }
  | { type: 'fill'; site: string; email: string }
  | { type: 'offer'; site: string; offer: Offer }
  // Without a message: whichever of the address is offered.
  | { type: 'end-offer'; id: string; messageId?: number }
  | { type: 'fill-code'; site: string; code: string }
  | { type: 'note'; text: string }

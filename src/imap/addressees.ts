import { type Address, hostOf, localOf } from '../core/address.ts'
import type { Candidates } from './recipients.ts'

export interface Mailbox {
  account: Address
  /** Whether it is at Gmail, which files one copy of a mail, whoever of us it is for. */
  gmail: boolean
}

/** Which of the addresses that a mail names it is for; likeliest first. */
export function addressees(
  named: Candidates,
  isAlias: (address: Address) => boolean,
  { account, gmail }: Mailbox,
): Address[] {
  const { all, written, topmost } = named
  const others = written.some((address) => isSpelledLike(address, account))
  const found = all.filter(
    (address) => isAlias(address) && !(others && isDeliveredOnly(address, written)),
  )
  if (gmail) return found
  // A copy for each recipient: this one is for whom it says, and who is named beside has one of his own. He must not see
  // in this one who else got it unseen.
  const owner = topmost.find((address) => found.includes(address))
  return owner ? [owner] : found
}

/**
 * Whether each alias that a mail names is among those it is for, or has a copy of its own. False also where it names more
 * addresses than were read.
 */
export function isForNobodyElse(
  { all, topmost, complete }: Candidates,
  found: readonly Address[],
  isAlias: (address: Address) => boolean,
  { gmail }: Mailbox,
): boolean {
  const isOwnCopy = !gmail && topmost.some((address) => found.includes(address))
  return complete && (isOwnCopy || all.every((one) => !isAlias(one) || found.includes(one)))
}

/**
 * A dot form that only the server wrote. It may write the account's address so on everybody's mail, as its owner once
 * spelled it: no proof where the mail itself names the account in another form.
 */
function isDeliveredOnly(address: Address, written: readonly Address[]): boolean {
  return !localOf(address).includes('+') && !written.includes(address)
}

/** Whether both are forms of one account's address: bare, with other dots, or with a tag. */
function isSpelledLike(address: Address, account: Address): boolean {
  return hostOf(address) === hostOf(account) && lettersOf(address) === lettersOf(account)
}

function lettersOf(address: Address): string {
  return localOf(address).replace(/\+.*/s, '').replaceAll('.', '')
}

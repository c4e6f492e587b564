/** What the server wrote into the page about this installation. */
interface Facts {
  /** Life of a new address, in seconds. */
  life: number
  /** Where abuse is told. */
  abuse: string
  /** Whether senders are checked: only then is it worth asking again for the outcome. */
  checks: boolean
  /** Whether buyers get a receipt by mail. */
  receipts: boolean
  /** How programs reach this site. */
  site: string
}

const written = document.body.dataset['facts']

export const facts: Facts = {
  life: 86_400,
  abuse: '',
  checks: false,
  receipts: false,
  site: location.origin,
  ...(written ? (JSON.parse(written) as Partial<Facts>) : {}),
}

import type { Ledger } from './stripe-ledger.ts'
import { refuse } from './stripe-params.ts'

type Node = Record<string, unknown>

const DEEPEST = 4

/** A copy in which the ids at these places are the things themselves; `data.` goes into each of a list. */
export function expand<Thing extends object>(
  ledger: Ledger,
  thing: Thing,
  places: readonly string[],
): Thing {
  const copy = structuredClone(thing)
  for (const place of places) {
    const steps = place.split('.')
    if (steps.length > DEEPEST) {
      throw refuse(400, `You cannot expand more than ${DEEPEST} levels of a property: ${place}`)
    }
    follow(ledger, copy as Node, steps, place)
  }
  return copy
}

function follow(ledger: Ledger, node: Node, [step, ...rest]: string[], place: string): void {
  if (step === undefined) return
  if (Array.isArray(node[step])) {
    for (const each of node[step]) follow(ledger, each as Node, rest, place)
    return
  }
  // An invoice shows its payments only to those who ask.
  if (node['object'] === 'invoice' && step === 'payments') node[step] = paymentsOf(ledger, node)
  const value = node[step]
  if (value === null) return
  if (value === undefined) throw refuse(400, `This property cannot be expanded (${place}).`)
  if (typeof value === 'string') {
    const found = ledger.find(value)
    if (!found) throw refuse(400, `This property cannot be expanded (${place}).`)
    node[step] = structuredClone(found)
  }
  follow(ledger, node[step] as Node, rest, place)
}

function paymentsOf(ledger: Ledger, { id }: Node) {
  const data = ledger.list('invoice_payment').filter(({ invoice }) => invoice === id)
  return {
    object: 'list',
    data: structuredClone(data),
    has_more: false,
    url: '/v1/invoice_payments',
  }
}

import { signal } from '@preact/signals'
import { kept } from '../site/kept.ts'

// Addresses of senders, nothing of their mails.
const SHELF = 'images'
const MOST = 200

const senders = signal<readonly string[]>(shelf())

/** Whose remote images are loaded without a question. Who asks has to know that it is really him: a name is soon forged. */
export const imageWishes = {
  has: (sender: string): boolean => senders.value.includes(sender.toLowerCase()),
  add(sender: string): void {
    keep([...without(sender), sender.toLowerCase()].slice(-MOST))
  },
  remove(sender: string): void {
    keep(without(sender))
  },
}

function without(sender: string): string[] {
  return shelf().filter((one) => one !== sender.toLowerCase())
}

function keep(all: readonly string[]): void {
  senders.value = all
  kept.keep(SHELF, all.length > 0 ? JSON.stringify(all) : undefined)
}

function shelf(): string[] {
  try {
    const found: unknown = JSON.parse(kept.find(SHELF) ?? '[]')
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

import { computed, signal } from '@preact/signals'
import { shown } from './mail.ts'

const ticked = signal<ReadonlySet<number>>(new Set())

/** Those with a tick that can be seen: what a search hides is not deleted by mistake. */
export const chosen = computed(
  () => new Set(shown.value.filter(({ id }) => ticked.value.has(id)).map(({ id }) => id)),
)
export const allChosen = computed(
  () => chosen.value.size > 0 && chosen.value.size === shown.value.length,
)

export function tick(id: number, on: boolean): void {
  const after = new Set(ticked.value)
  if (on) after.add(id)
  else after.delete(id)
  ticked.value = after
}

export function tickAll(on: boolean): void {
  ticked.value = new Set(on ? shown.value.map(({ id }) => id) : [])
}

/** Counts the turns of the event loop from now on. */
export function countTurns() {
  let count = 0
  let next: NodeJS.Immediate
  const tick = () => {
    count += 1
    next = setImmediate(tick)
  }
  next = setImmediate(tick)
  return { count: () => count, stop: () => clearImmediate(next) }
}

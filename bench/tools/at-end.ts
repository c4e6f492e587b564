/**
 * Runs when the program ends, however it ends, the last one first: nothing that was started may outlive it. Must do all
 * its work at once, without awaiting anything.
 */
export function atEnd(clear: () => void): void {
  if (clearing.length === 0) listen()
  clearing.push(clear)
}

const clearing: (() => void)[] = []

function listen(): void {
  process.on('exit', () => {
    for (const clear of clearing.reverse()) clear()
  })
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => process.exit(code))
  }
}

/** One clock for all threads: the machine's, moved by a number of seconds that tests set. */
export function makeClock(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}

export function openClock(shared: SharedArrayBuffer) {
  const offsetSeconds = new Int32Array(shared)
  return {
    now: (): Date => new Date(Date.now() + Atomics.load(offsetSeconds, 0) * 1000),
    move(seconds: number): void {
      Atomics.add(offsetSeconds, 0, seconds)
    },
  }
}

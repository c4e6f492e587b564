// One long text takes no more of this thread's computing time than its eight pieces. A square would take 8 times as much; 4 is
// what we allow.
const PIECES = 8
const MOST_GROWTH = 4
// The system counts computing time in steps of up to 10 ms.
const STEP_MS = 10

/** True when the time to read a piece, repeated, grows faster than its length. The machine has other work too: only what is too slow three times is. */
export function grows(read: (text: string) => unknown, piece: string, longest: number): boolean {
  return [1, 2, 3].every(() => growth(read, piece, longest) > MOST_GROWTH)
}

function growth(read: (text: string) => unknown, piece: string, longest: number): number {
  const whole = piece.repeat(Math.ceil(longest / piece.length)).slice(0, longest)
  const part = whole.slice(0, longest / PIECES)
  const partsMs = computingMs(() => {
    for (let at = 0; at < PIECES; at += 1) read(part)
  })
  return computingMs(() => read(whole)) / Math.max(partsMs, STEP_MS)
}

function computingMs(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

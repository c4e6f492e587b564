// One long text takes no more of this thread's computing time than its eight pieces. A square would take 8 times as much; 4 is
// what we allow.
const PIECES = 8
const MAX_GROWTH = 4
// The system counts computing time in steps of up to 10 ms.
const STEP_MS = 10

/** True when the time to read a piece, repeated, grows faster than its length. The machine has other work too: only what is too slow three times is. */
export function isSuperlinear(
  read: (text: string) => unknown,
  piece: string,
  longest: number,
): boolean {
  return [1, 2, 3].every(() => growth(read, piece, longest) > MAX_GROWTH)
}

function growth(read: (text: string) => unknown, piece: string, longest: number): number {
  const whole = piece.repeat(Math.ceil(longest / piece.length)).slice(0, longest)
  const part = whole.slice(0, longest / PIECES)
  const partsMs = cpuMs(() => {
    for (let at = 0; at < PIECES; at += 1) read(part)
  })
  return cpuMs(() => read(whole)) / Math.max(partsMs, STEP_MS)
}

function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

// Compares the CPU time for one long text with that for its eight pieces. Quadratic time would take 8 times as much; 4 is
// the limit.
const PIECES = 8
const MAX_GROWTH = 4
// The system measures CPU time in steps of up to 10 ms.
const STEP_MS = 10

/**
 * True if the time to parse a repeated piece grows faster than its length. Other load disturbs the measurement, so it must
 * fail three times.
 */
export function isSuperlinear(
  read: (text: string) => unknown,
  piece: string,
  longest: number,
): boolean {
  return [1, 2, 3].every(() => growth(read, piece, longest) > MAX_GROWTH)
}

/**
 * True if the work takes more than `factor` times the CPU time of the reference, which measures the speed of the machine. As
 * above, it must do so three times.
 */
export async function isSlowerThan(
  factor: number,
  reference: () => unknown,
  work: () => unknown,
): Promise<boolean> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const [workMs, referenceMs] = [await asyncCpuMs(work), await asyncCpuMs(reference)]
    if (workMs <= factor * Math.max(referenceMs, STEP_MS)) return false
  }
  return true
}

async function asyncCpuMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  return cpuMsSince(before)
}

function growth(read: (text: string) => unknown, piece: string, longest: number): number {
  const whole = piece.repeat(Math.ceil(longest / piece.length)).slice(0, longest)
  const wholeMs = cpuMs(() => read(whole))
  // Usually so fast that the pieces need not be measured.
  if (wholeMs <= STEP_MS * MAX_GROWTH) return wholeMs / STEP_MS
  const part = whole.slice(0, longest / PIECES)
  const partsMs = cpuMs(() => {
    for (let at = 0; at < PIECES; at += 1) read(part)
  })
  return wholeMs / Math.max(partsMs, STEP_MS)
}

function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  return cpuMsSince(before)
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

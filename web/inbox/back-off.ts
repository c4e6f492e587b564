const FIRST_SECONDS = 1
const MOST_SECONDS = 30

/** How long to leave a server alone after so many misses. `chance` (0 to 1) keeps those who lost it together from coming back together. */
export function backOffSeconds(misses: number, chance: number, asked = 0): number {
  const usual = Math.min(MOST_SECONDS, FIRST_SECONDS * 2 ** Math.max(0, misses - 1))
  // What the server asked for is the least; a little more, by chance, for the same reason.
  return Math.max(usual * (0.5 + chance / 2), asked * (1 + chance / 10))
}

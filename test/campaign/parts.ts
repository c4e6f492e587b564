import type { Part } from './part.ts'

/** In the order in which they run. */
export const PARTS: readonly Part[] = []

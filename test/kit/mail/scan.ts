import { type ScannedHeader, scanHeader } from '../../../src/mime/header-summary.ts'

/** All steps at once. */
export function scanned(raw: Uint8Array): ScannedHeader {
  const steps = scanHeader(raw)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

// Below, bytes may be a slice of a buffer that others use, and garbage collections keep up.
const LARGE_BYTES = 1024 * 1024

/**
 * Frees large bytes at once, not with the next garbage collection: V8 waits for 64 MB of them in each thread. They must not be used any
 * more, by anybody.
 */
export function freeLarge({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= LARGE_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

import { BUNDLED_MAIN, bundleService } from '../support/bundle.ts'

/** Called by each vitest project that starts the service; the first builds it. */
export async function setup(): Promise<void> {
  if (process.env['MAYFLY_TEST_MAIN']) return
  await bundleService()
  process.env['MAYFLY_TEST_MAIN'] = BUNDLED_MAIN
}

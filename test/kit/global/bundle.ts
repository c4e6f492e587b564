import { buildServer, MAIN } from '../../../build/server.ts'

/** Called by each vitest project that starts the service; the first builds it if something has changed. */
export async function setup(): Promise<void> {
  if (process.env['MAYFLY_TEST_MAIN']) return
  await import('../../../build/page.ts')
  await buildServer()
  process.env['MAYFLY_TEST_MAIN'] = MAIN
}

import {
  test as base,
  type PlaywrightTestArgs,
  type PlaywrightTestOptions,
  type PlaywrightWorkerArgs,
  type PlaywrightWorkerOptions,
  type TestType,
} from '@playwright/test'
import { type Mailbox, Mayfly, MayflyError } from '../../clients/js/src/mayfly.ts'
import { startMayfly, type TestMayfly } from './test-kit.ts'

// What the npm package exports as ./playwright.

export { expect } from '@playwright/test'

export interface TestFixtures {
  /** A new mailbox; it ends with the test. */
  mailbox: Mailbox
}

export interface WorkerFixtures {
  /** The service at `mayflyUrl`, or one that this worker has started. */
  mayfly: Pick<TestMayfly, 'url' | 'client' | 'createMailbox'> & {
    /** Undefined if the worker has not started it. */
    smtpPort: number | undefined
  }
  /** An option for `use` in the configuration: the URL of a running service. Default: MAYFLY_URL of the environment. */
  mayflyUrl: string | undefined
}

export const test: TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & TestFixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions & WorkerFixtures
> = base.extend<TestFixtures, WorkerFixtures>({
  mayflyUrl: [process.env['MAYFLY_URL'], { scope: 'worker', option: true }],
  mayfly: [
    async ({ mayflyUrl: url }, use) => {
      if (url) {
        const client = new Mayfly({ url })
        const createMailbox: Mayfly['createMailbox'] = (options) => client.createMailbox(options)
        await use({ url, smtpPort: undefined, client, createMailbox })
      } else {
        const mayfly = await startMayfly()
        await use(mayfly)
        await mayfly.stop()
      }
    },
    { scope: 'worker' },
  ],
  mailbox: async ({ mayfly }, use) => {
    const mailbox = await mayfly.createMailbox()
    await use(mailbox)
    await mailbox.end().catch((error) => {
      // The test may have ended it itself.
      if (!(error instanceof MayflyError && error.status === 401)) throw error
    })
  },
})

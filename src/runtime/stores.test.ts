import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { MAIL_FILE } from '../store/sqlite/files.ts'
import { readConfig } from './config.ts'
import { openMailStoreIfExists } from './stores.ts'

test('before the first start there is no store; a damaged one is a fault that is reported', async () => {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const { config } = readConfig({ env: { MAYFLY_DATA: folder.path }, file: {} })
  expect(await openMailStoreIfExists(config)).toEqual({ store: undefined, storeFault: undefined })
  writeFileSync(join(folder.path, MAIL_FILE), randomBytes(8_192))
  expect(await openMailStoreIfExists(config)).toEqual({
    store: undefined,
    storeFault: expect.stringMatching(/^mail\.db is damaged/),
  })
})

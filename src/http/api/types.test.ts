import { expect, test } from 'vitest'
import { apiTypes } from './types.ts'
import { documented } from '../routes.ts'

test('web/site/api.ts says what the routes answer', async () => {
  await expect(apiTypes(documented)).toMatchFileSnapshot('../../../web/site/api.ts')
})

import { expect, test } from 'vitest'
import { documented } from '../routes.ts'
import { apiTypes } from './types.ts'

test('web/site/api.ts says what the routes answer', async () => {
  await expect(apiTypes(documented)).toMatchFileSnapshot('../../../web/site/api.ts')
})

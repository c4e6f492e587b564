import { expect, test } from 'vitest'
import { documented } from '../routes.ts'
import { apiMarkdown } from './markdown.ts'

test('docs/api.md says what the routes say', async () => {
  await expect(apiMarkdown(documented)).toMatchFileSnapshot('../../../docs/api.md')
})

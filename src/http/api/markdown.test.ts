import { expect, test } from 'vitest'
import { apiMarkdown } from './markdown.ts'
import { documented } from '../routes.ts'

test('docs/api.md says what the routes say', async () => {
  await expect(apiMarkdown(documented)).toMatchFileSnapshot('../../../docs/api.md')
})

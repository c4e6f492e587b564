import { expect, test } from 'vitest'
import { documentedRoutes } from '../../routes.ts'
import { apiMarkdown } from './markdown.ts'
import { typescriptTypes } from './schema-text.ts'

test('docs/api.md says what the routes say', async () => {
  await expect(apiMarkdown(documentedRoutes)).toMatchFileSnapshot('../../../../docs/api.md')
})

test('web/site/api.ts says what the routes answer', async () => {
  await expect(typescriptTypes(documentedRoutes)).toMatchFileSnapshot('../../../../web/site/api.ts')
})

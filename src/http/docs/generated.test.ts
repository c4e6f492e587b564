import { expect, test } from 'vitest'
import { adminRoutes, documentedRoutes } from '../routes.ts'
import { apiMarkdown } from './markdown.ts'
import { typescriptTypes } from './schema-text.ts'

test('docs/api.md matches the routes', async () => {
  await expect(apiMarkdown(documentedRoutes)).toMatchFileSnapshot('../../../docs/api.md')
})

test('web/site/api.ts matches the responses of the routes', async () => {
  await expect(typescriptTypes(documentedRoutes)).toMatchFileSnapshot('../../../web/site/api.ts')
})

test('web/admin/api.ts matches the responses of the admin API', async () => {
  await expect(typescriptTypes(adminRoutes)).toMatchFileSnapshot('../../../web/admin/api.ts')
})

const CLIENT_PATHS = /^\/(api\/(create-session|check-mail|read-mail|extend-session)|emails)$/

test('clients/js/src/api.ts matches the responses of the routes', async () => {
  const used = documentedRoutes.filter(({ path }) => CLIENT_PATHS.test(path))
  await expect(typescriptTypes(used)).toMatchFileSnapshot('../../../clients/js/src/api.ts')
})

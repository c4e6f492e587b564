import { expect, test } from 'vitest'
import { apiMarkdown } from '../../../build/api-reference.ts'
import { apiTypes } from '../../../build/api-types.ts'
import { comingFromMarkdown } from '../../../build/coming-from.ts'
import { pythonTypes } from '../../../build/python-types.ts'
import { adminRoutes, documentedRoutes } from '../routes.ts'

test('docs/api.md matches the routes', async () => {
  await expect(apiMarkdown(documentedRoutes)).toMatchFileSnapshot('../../../docs/api.md')
})

const CLIENT_PATHS =
  /^\/(api\/(domains|create-session|check-mail|read-mail|delete-mail|(extend|update)-session)|domains(\/.*)?|emails(\/.*)?|sessions(\/.*)?|usage|webhooks(\/.*)?)$/
const used = documentedRoutes.filter(({ path }) => CLIENT_PATHS.test(path))

test('docs/coming-from.md is up to date', async () => {
  await expect(comingFromMarkdown()).toMatchFileSnapshot('../../../docs/coming-from.md')
})

test('clients/js/src/api.ts matches the responses of the routes', async () => {
  await expect(apiTypes(used)).toMatchFileSnapshot('../../../clients/js/src/api.ts')
})

test('clients/python/mayfly_mail/_types.py matches the responses of the routes', async () => {
  const file = '../../../clients/python/mayfly_mail/_types.py'
  await expect(pythonTypes(used)).toMatchFileSnapshot(file)
})

test('no two schemas have the same name', () => {
  expect(() => apiTypes([...documentedRoutes, ...adminRoutes])).not.toThrow()
})

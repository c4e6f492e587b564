import { parameterRows, problemRows, sampleText } from '../src/http/docs/schema-text.ts'
import type { Route } from '../src/http/server/route.ts'

/** docs/api.md. */
export function apiMarkdown(routes: readonly Route[]): string {
  return [
    '# The API',
    'Generated from the routes by `src/http/docs/generated.test.ts`. To update it, run `npx vitest run src/http/docs --update`.',
    'Parameters are sent in the query or, with POST, in a form, JSON or multipart body of at most 64 KB and 1,000 fields (JSON keys and array items; 100 parts). Unknown parameters are ignored, and the response names up to ten of them in `X-Ignored-Parameters`. A token may be sent as `Authorization: Bearer`. Every error is JSON with `status`, `message`, `code` and `request_id`.',
    ...routes.flatMap(routeSection),
    '',
  ].join('\n\n')
}

function routeSection(route: Route): string[] {
  return [
    `## ${route.title}`,
    `\`${route.method} ${route.path}\``,
    route.description,
    ...parameterTable(route),
    responseTable(route),
    ...sampleBlock(route),
  ]
}

function parameterTable(route: Route): string[] {
  const rows = parameterRows(route).map(
    ({ name, required, type, description }) =>
      `| \`${name}\`${required ? ' (required)' : ''} | ${type} | ${description} |`,
  )
  return rows.length === 0
    ? []
    : [['| parameter | type | meaning |', '|---|---|---|', ...rows].join('\n')]
}

function responseTable(route: Route): string {
  const kind = typeof route.output === 'string' ? route.output : 'JSON, as below'
  const unchanged = route.conditional ? ['| 304 | not modified |'] : []
  const refused = problemRows(route).map(
    ([status, codes]) => `| ${status} | ${codes.map((code) => `\`${code}\``).join(', ')} |`,
  )
  return ['| status | response |', '|---|---|', `| 200 | ${kind} |`, ...unchanged, ...refused].join(
    '\n',
  )
}

function sampleBlock(route: Route): string[] {
  const sample = sampleText(route)
  return sample === undefined ? [] : [`\`\`\`json\n${sample}\n\`\`\``]
}

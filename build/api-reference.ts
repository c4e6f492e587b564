import type { ParamSchema } from '../server/parameters.ts'
import { problemStatus } from '../server/problem-response.ts'
import type { Route } from '../server/route.ts'
import { isRequired, problemsOf } from './openapi.ts'
import { describeType, sampleOf } from './schema-text.ts'

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

function parameterTable({ input, requestHeaders = [] }: Route): string[] {
  const fields = Object.entries(input.properties).map(([name, schema]) => {
    const field: ParamSchema = schema
    const need = isRequired(input, name) ? ' (required)' : ''
    return `| \`${name}\`${need} | ${describeType(field)} | ${field.description ?? ''} |`
  })
  const headers = requestHeaders.map(
    ({ name, required, description }) =>
      `| \`${name}\`${required ? ' (required)' : ''} | header | ${description} |`,
  )
  const rows = [...headers, ...fields]
  return rows.length === 0
    ? []
    : [['| parameter | type | meaning |', '|---|---|---|', ...rows].join('\n')]
}

function responseTable(route: Route): string {
  const kind = typeof route.output === 'string' ? route.output : 'JSON, as below'
  const unchanged = route.conditional ? ['| 304 | not modified |'] : []
  const refused = [...Map.groupBy(problemsOf(route), (code) => problemStatus[code])].map(
    ([number, codes]) => `| ${number} | ${codes.map((code) => `\`${code}\``).join(', ')} |`,
  )
  return ['| status | response |', '|---|---|', `| 200 | ${kind} |`, ...unchanged, ...refused].join(
    '\n',
  )
}

function sampleBlock({ output }: Route): string[] {
  if (typeof output === 'string') return []
  return [`\`\`\`json\n${JSON.stringify(sampleOf(output), undefined, 2)}\n\`\`\``]
}

import type { Route } from '../server/route.ts'
import { status } from '../server/status.ts'
import { type Field, typeText } from './field-text.ts'
import { isRequired, refusalsOf } from './openapi.ts'
import { sampleOf } from './sample.ts'

/** docs/api.md: the same as /docs, for those who read the repository. */
export function apiMarkdown(routes: readonly Route[]): string {
  return [
    '# The API',
    'Made from the routes by `src/http/api/markdown.test.ts`; after a change run `npx vitest run src/http/api/markdown --update`.',
    'Parameters go in the query or, with POST, in a form, JSON or multipart body. A token may travel as `Authorization: Bearer`. Every refusal is JSON with `status`, `message`, `code` and `request_id`.',
    ...routes.flatMap(section),
    '',
  ].join('\n\n')
}

function section(route: Route): string[] {
  return [
    `## ${route.title}`,
    `\`${route.method} ${route.path}\``,
    route.about,
    ...parameters(route),
    answers(route),
    ...sample(route),
  ]
}

function parameters({ input, requestHeaders = [] }: Route): string[] {
  const fields = Object.entries(input.properties).map(([name, schema]) => {
    const field: Field = schema
    const need = isRequired(input, name) ? ' (required)' : ''
    return `| \`${name}\`${need} | ${typeText(field)} | ${field.description ?? ''} |`
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

function answers(route: Route): string {
  const kind = typeof route.output === 'string' ? route.output : 'JSON, as below'
  const unchanged = route.conditional ? ['| 304 | nothing changed since that ETag |'] : []
  const refused = [...Map.groupBy(refusalsOf(route), (code) => status[code])].map(
    ([number, codes]) => `| ${number} | ${codes.map((code) => `\`${code}\``).join(', ')} |`,
  )
  return ['| status | answer |', '|---|---|', `| 200 | ${kind} |`, ...unchanged, ...refused].join(
    '\n',
  )
}

function sample({ output }: Route): string[] {
  if (typeof output === 'string') return []
  return [`\`\`\`json\n${JSON.stringify(sampleOf(output), undefined, 2)}\n\`\`\``]
}

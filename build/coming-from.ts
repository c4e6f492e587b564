import { COMING_FROM, OTHER_SERVICES, type OtherService } from '../src/http/docs/coming-from.ts'

/** docs/coming-from.md. */
export function comingFromMarkdown(): string {
  return [
    '# Coming from another service',
    COMING_FROM,
    'Written from `src/http/docs/coming-from.ts` by `npx vitest run src/http/docs --update`; a running instance shows it at `/docs/coming-from`.',
    ...OTHER_SERVICES.flatMap(section),
    '',
  ].join('\n\n')
}

function section({ name, about, calls, differences, missing }: OtherService): string[] {
  const rows = calls.map((cells) => `| ${cells.join(' | ')} |`)
  return [
    `## ${name}`,
    about,
    [`| ${name} | HTTP | JavaScript | Python |`, '|---|---|---|---|', ...rows].join('\n'),
    'What is different:',
    differences.map((text) => `- ${text}`).join('\n'),
    `Not in Mayfly: ${missing}`,
  ]
}

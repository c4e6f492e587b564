import { parameterRows, problemRows, sampleText } from '../src/http/docs/schema-text.ts'
import { MAX_PER_ADDRESS } from '../src/http/server/connection-limit.ts'
import { LONG_POLL_LIMITS } from '../src/http/server/limits.ts'
import { MAX_BODY_BYTES, MAX_FIELDS, MAX_PARTS } from '../src/http/server/parse-request.ts'
import { type NamedRate, RATES } from '../src/http/server/rates.ts'
import type { Route } from '../src/http/server/route.ts'
import { MAX_WEBHOOKS_PER_KEY } from '../src/webhooks/rules.ts'

/** docs/api.md. */
export function apiMarkdown(routes: readonly Route[]): string {
  return [
    '# The API',
    'Generated from the routes by `src/http/docs/generated.test.ts`. To update it, run `npx vitest run src/http/docs --update`.',
    'Parameters are sent in the query or, with POST, in a form, JSON or multipart body. Unknown parameters are ignored, and the response names up to ten of them in `X-Ignored-Parameters`. A token may be sent as `Authorization: Bearer`. Every error is JSON with `status`, `message`, `code` and `request_id`. [Limits](#limits) are at the end.',
    ...routes.flatMap(routeSection),
    ...limitsSection(),
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

function limitsSection(): string[] {
  return [
    '## Limits',
    'A client address is an IPv4 address or an IPv6 /64. Rates are counted over all threads, and over all nodes if there is Redis; a 429 has `Retry-After`. `MAYFLY_RATE_LIMITS=off` lifts them, and nothing else.',
    'Requests from loopback are exempt from rates, wrong admin tokens excepted: a client that is only tested against localhost never sees `rate_limited`. Two things make them count: `MAYFLY_TRUST_PROXY` with a loopback address, then for the address in `X-Forwarded-For`; and without it, `X-Forwarded-For` or `Forwarded` in a request, then all of these count as one client.',
    [
      '| limit | default | setting | at the limit |',
      '|---|---|---|---|',
      ...Object.values<NamedRate>(RATES).flatMap(rateRow),
      ...OTHER_LIMITS.map((cells) => `| ${cells.join(' | ')} |`),
    ].join('\n'),
    'Limits of mail, parsing and storage are in [security.md](security.md#limits).',
  ]
}

function rateRow({ of, count, seconds, burst }: NamedRate): string[] {
  if (of === undefined) return []
  const bursts = burst > count + 1 ? `, bursts of ${burst}` : ''
  const rate = `${count} a ${seconds === 1 ? 'second' : 'minute'}${bursts}`
  return [`| ${of} | ${rate} | \`MAYFLY_RATE_LIMITS\` | 429 \`rate_limited\` |`]
}

const { mailbox, client, all } = LONG_POLL_LIMITS
const figure = (count: number) => count.toLocaleString('en')

const OTHER_LIMITS = [
  ['requests of a key, in all; per day', 'by plan', '', '402 `quota_exhausted`; 429 `daily_limit`'],
  [
    'open waits and streams per mailbox or key; per client address; in all',
    `${mailbox}; ${figure(client)}; ${figure(all)}, each per thread`,
    '',
    '503 `overloaded`',
  ],
  [
    'connections per client address, loopback excepted',
    figure(MAX_PER_ADDRESS),
    '',
    '503 `overloaded`',
  ],
  ['connections in all', '10,000', '`MAYFLY_HTTP_CONNECTIONS`', '503 `overloaded`'],
  [
    'body of a request',
    `${MAX_BODY_BYTES / 1024} KB; ${figure(MAX_FIELDS)} fields of a form, or keys and array items of JSON; ${MAX_PARTS} parts`,
    '',
    '413 `too_large`',
  ],
  [
    'query; request line and headers',
    `${figure(MAX_FIELDS)} parameters; 16 KB`,
    '',
    '413; 431 `too_large`',
  ],
  ['time for a request to arrive', '15 s', '', '408 `timeout`'],
  ['domains of its own per key', 'by plan', '`MAYFLY_PLANS_FILE`', '409 `domain_limit`'],
  ['webhooks per key', figure(MAX_WEBHOOKS_PER_KEY), '', '409 `webhook_limit`'],
  [
    'life of a session without a key; with one',
    '7 days; 30 days',
    '`MAYFLY_ANONYMOUS_MAX_TTL`; `MAYFLY_SESSION_MAX_TTL`',
    '400 `invalid_parameter`',
  ],
  [
    'mail of a session',
    '1,000 messages; 100 MB',
    '`MAYFLY_SESSION_MAX_MESSAGES`; `MAYFLY_SESSION_MAX_BYTES`',
    'its mail is deferred; check-mail says `full`',
  ],
]

import { hash } from 'node:crypto'
import { type Answer, file } from './answer.ts'
import { html, type Markup, trusted } from './markup.ts'
import { SCRIPT } from './shop-script.ts'
import { STYLE } from './shop-style.ts'

interface ShopPage {
  title: string
  /** What the script reads: `page` tells it where it is. */
  facts: Record<string, string>
  content: Markup
}

/** Our own style and script, known by their hashes; requests and forms to this site alone. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  `script-src 'sha256-${hash('sha256', SCRIPT, 'base64')}'`,
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** What stands around each page of the shop. */
export function shopPage({ title, facts, content }: ShopPage): Answer {
  const noted = Object.entries(facts).map(([name, value]) => html` data-${name}="${value}"`)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Mayfly</title>
<style>${trusted(STYLE)}</style>
</head>
<body${noted}>
<header>
<p class="mark"><a href="/">Mayfly</a></p>
<nav aria-label="Site"><a href="/pricing">Plans</a> <a href="/docs">Documents</a></nav>
</header>
<main>
${content}
</main>
<script type="module">${trusted(SCRIPT)}</script>
</body>
</html>
`
  return file('text/html; charset=utf-8', page.markup, {
    'cache-control': 'no-store',
    'content-security-policy': POLICY,
  })
}

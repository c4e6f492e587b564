import { html, type Markup } from './markup.ts'
import type { PageFacts } from './page-facts.ts'
import { siteFoot, siteTop } from './page-top.ts'
import type { Locale } from './plain-locale.ts'

/** What /key is until its script takes over: only that can use a key without sending it in a form. */
export function keyContent({ site, abuse }: PageFacts, { locale }: { locale: Locale }): Markup {
  return html`${siteTop(locale, 'key')}
<main id="main" class="for-now" lang="en" dir="ltr">
<h1>Your key</h1>
<p class="lead">Usage, remaining requests, sample code.</p>
<noscript>
<p class="notice">This page needs JavaScript, because your key never leaves your browser. Without it, use a terminal:</p>
<pre><code>curl -H 'APIKey: KEY' ${site}/usage</code></pre>
<p>To roll the key (the old one keeps working for 24 hours):</p>
<pre><code>curl -X POST -H 'APIKey: KEY' ${site}/api/roll-key</code></pre>
</noscript>
</main>
${siteFoot(locale, abuse)}`
}

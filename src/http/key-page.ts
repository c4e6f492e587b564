import { html, type Markup } from './markup.ts'
import type { PageFacts } from './page-facts.ts'
import { siteFoot, siteTop } from './page-top.ts'

/** What /key is until its script takes over: only that can use a key without sending it in a form. */
export function keyContent({ site, abuse }: PageFacts): Markup {
  return html`${siteTop('key')}
<main id="main" lang="en" dir="ltr">
<h1>Your key</h1>
<p class="lead">What is used of it, what is left, and how to call.</p>
<noscript>
<p class="notice">This page needs JavaScript: your key stays in your browser, and only a script can use it there. Without it, a terminal will do:</p>
<pre><code>curl -H 'APIKey: KEY' ${site}/usage</code></pre>
</noscript>
</main>
${siteFoot(abuse)}`
}

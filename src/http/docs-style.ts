/** The whole style of /docs. The page carries it inline, so its hash stands in the policy. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fdfdfb, #14181b);
  --ink: light-dark(#1d2529, #e3e8e6);
  --soft: light-dark(#5a676c, #98a5a6);
  --line: light-dark(#e2e5e0, #2b3236);
  --shade: light-dark(#f3f5f1, #1c2226);
  --wing: light-dark(#0b6b63, #63cfc0);
  --post: light-dark(#8a4b08, #f0b265);
}
* { box-sizing: border-box }
html { scroll-behavior: smooth; scroll-padding-top: 1.5rem }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto } }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  overflow-wrap: break-word;
}
nav { padding: 1.25rem 1.25rem 0 }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0; padding: 0; list-style: none; font-size: .925rem }
nav a { color: inherit; text-decoration: none }
nav a:hover { color: var(--wing); text-decoration: underline }
.mark { margin: 0 0 .5rem; font-weight: 650; letter-spacing: .01em; color: var(--wing) }
.mark::before { content: '⟡ ' / '' }
main { padding: .5rem 1.25rem 4rem; max-width: 50rem }
h1 { font-size: clamp(1.75rem, 1.2rem + 2.5vw, 2.5rem); line-height: 1.15; letter-spacing: -.02em; margin: 1.5rem 0 .5rem }
h2 { font-size: 1.25rem; letter-spacing: -.01em; margin: 0 0 .5rem }
.lead { font-size: 1.125rem; color: var(--soft); margin: 0 0 1rem }
section { padding: 2rem 0; border-top: 1px solid var(--line) }
a { color: var(--wing); text-underline-offset: .2em; text-decoration-thickness: 1px }
a:hover { text-decoration-thickness: 2px }
:focus-visible { outline: 2px solid var(--wing); outline-offset: 3px; border-radius: 2px }
code { font: .9em/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace }
pre { margin: 0; padding: 1rem 1.25rem; overflow-x: auto; background: var(--shade); border: 1px solid var(--line); border-radius: .5rem }
.sample { margin-top: 1rem; font-size: .9rem }
.call { margin: 0 0 .75rem }
.call code { font-size: 1rem }
.method { font-size: .75rem; font-weight: 650; letter-spacing: .06em; padding: .15rem .5rem; border: 1px solid; border-radius: 1rem; margin-right: .25rem }
.get { color: var(--wing) }
.post { color: var(--post) }
.none, em { color: var(--soft) }
em { font-style: normal; font-size: .85em }
.scroll { overflow-x: auto; margin-top: 1rem }
table { width: 100%; border-collapse: collapse; font-size: .925rem }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .8rem; padding: 0 1rem .35rem 0 }
td { vertical-align: top; padding: .4rem 1rem .4rem 0; border-top: 1px solid var(--line) }
td:first-child { white-space: nowrap }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 15rem minmax(0, 1fr); max-width: 72rem; margin: 0 auto }
  nav { position: sticky; top: 0; align-self: start; height: 100vh; overflow-y: auto; padding-top: 2.25rem }
  nav ul { display: block }
  nav li { padding: .2rem 0 }
  main { padding-left: 2.5rem }
}
`

/** The colours of every page, by day and by night. */
export const PALETTE = `
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
`

/** The whole style of /docs. The page carries it inline, so its hash stands in the policy. */
export const STYLE = `${PALETTE}* { box-sizing: border-box }
html { scroll-behavior: smooth; scroll-padding-top: 1.5rem }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto } }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  overflow-wrap: break-word;
}
nav { padding: 1.25rem 1.25rem 0 }
nav ul { display: flex; flex-wrap: wrap; gap: .4rem 1.25rem; margin: 0; padding: 0; list-style: none; font-size: .925rem }
nav a { color: inherit; text-decoration: none }
nav a:hover { color: var(--wing); text-decoration: underline }
.mark { margin: 0 0 .5rem; font-weight: 650; letter-spacing: .01em; color: var(--wing) }
.mark::before { content: '⟡ ' / '' }
main { padding: .5rem 1.25rem 4rem; max-width: 50rem }
h1 { font-size: clamp(1.75rem, 1.2rem + 2.5vw, 2.5rem); line-height: 1.15; letter-spacing: -.02em; margin: 1.5rem 0 .5rem }
h2 { font-size: 1.4rem; line-height: 1.25; letter-spacing: -.015em; margin: 0 0 .75rem }
section:target h2 { color: var(--wing) }
main ul { margin: 0; padding-left: 1.25rem }
main li + li { margin-top: .5rem }
.lead { font-size: 1.125rem; color: var(--soft); margin: 0 0 1rem }
section { padding: 2.25rem 0; border-top: 1px solid var(--line) }
a { color: var(--wing); text-underline-offset: .2em; text-decoration-thickness: 1px }
a:hover { text-decoration-thickness: 2px }
:focus-visible { outline: 2px solid var(--wing); outline-offset: 3px; border-radius: 2px }
code { font: .9em/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace }
p code, li code { background: var(--shade); padding: .1em .35em; border-radius: .25rem }
pre { margin: 0; padding: 1rem 1.25rem; overflow-x: auto; background: var(--shade); border: 1px solid var(--line); border-radius: .5rem }
.sample { margin-top: 1.25rem; font-size: .9rem }
.note { color: var(--soft) }
.call { margin: 0 0 .75rem }
.call code { font-size: 1rem; background: none; padding: 0 }
.method { font-size: .75rem; font-weight: 650; letter-spacing: .06em; padding: .15rem .5rem; border: 1px solid; border-radius: 1rem; margin-right: .25rem }
.get { color: var(--wing) }
.post { color: var(--post) }
.none, em { color: var(--soft) }
em { font-style: normal; font-size: .85em }
.scroll { overflow-x: auto; margin-top: 1.25rem }
table { width: 100%; border-collapse: collapse; font-size: .925rem }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .8rem; padding: 0 1rem .35rem 0 }
td { vertical-align: top; padding: .4rem 1rem .4rem 0; border-top: 1px solid var(--line) }
td:last-child, th:last-child { width: 100%; padding-right: 0 }
td:not(:last-child) { white-space: nowrap; font-variant-numeric: tabular-nums }
td:first-child { min-width: 5.5rem }
td code { display: inline-block; margin-right: .6rem }
@media (max-width: 40rem) {
  pre { padding: .85rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere }
  .parameters thead { position: absolute; clip-path: inset(50%) }
  .parameters tr { display: grid; grid-template-columns: minmax(6.5rem, auto) 1fr; column-gap: .25rem; border-top: 1px solid var(--line); padding: .5rem 0 }
  .parameters td { border: 0; padding: 0 }
  .parameters td:nth-child(2) { color: var(--soft) }
  .parameters td:last-child { grid-column: 1 / -1 }
}
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 15rem minmax(0, 1fr); max-width: 72rem; margin: 0 auto }
  nav { position: sticky; top: 0; align-self: start; height: 100vh; overflow-y: auto; padding-top: 2.25rem }
  nav ul { display: block }
  nav li { padding: .2rem 0 }
  main { padding-left: 2.5rem }
}
`

import { PALETTE } from './docs-style.ts'

/** The style of the shop's pages, in the look of the documents. */
export const STYLE = `${PALETTE}* { box-sizing: border-box }
[hidden] { display: none !important }
body {
  margin: 0 auto; max-width: 47.5rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  overflow-wrap: break-word;
}
header { display: flex; justify-content: space-between; align-items: baseline; gap: 1rem; padding: 1.25rem 1.25rem 0 }
header a { color: inherit; text-decoration: none }
nav a { margin-left: 1rem; font-size: .925rem }
header a:hover { color: var(--wing); text-decoration: underline }
.mark { margin: 0; font-weight: 650; letter-spacing: .01em; color: var(--wing) }
.mark::before { content: '⟡ ' / '' }
main { padding: .5rem 1.25rem 4rem }
h1 { font-size: clamp(1.75rem, 1.2rem + 2.5vw, 2.5rem); line-height: 1.15; letter-spacing: -.02em; margin: 1.75rem 0 1rem }
h2 { font-size: 1.25rem; line-height: 1.25; letter-spacing: -.015em; margin: 0 }
.lead { font-size: 1.125rem; color: var(--soft); margin: -.5rem 0 1.5rem }
a { color: var(--wing); text-underline-offset: .2em; text-decoration-thickness: 1px }
a:hover { text-decoration-thickness: 2px }
:focus-visible { outline: 2px solid var(--wing); outline-offset: 3px; border-radius: 2px }
code, pre { font: .9em/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace }
p code { background: var(--shade); padding: .1em .35em; border-radius: .25rem }
.panel p code { background: none; padding: 0 }
pre { margin: .75rem 0; padding: .85rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--shade); border: 1px solid var(--line); border-radius: .5rem }
main > noscript pre { margin-bottom: 1.5rem }
.notice { margin: 0 0 1.5rem; padding: .75rem 1rem; border: 1px solid var(--post); border-radius: .5rem; color: var(--post) }
.fault { color: var(--post); margin: .75rem 0 }
.fault:empty { display: none }
.soft { color: var(--soft); font-size: .925rem }
.plans { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1.25rem }
.card { display: flex; flex-direction: column; padding: 1.5rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--shade) }
.card ul { flex: 1; margin: 1rem 0 0; padding: 0; list-style: none }
.card li { padding: .3rem 0 }
.card li + li { border-top: 1px solid var(--line) }
.card button { margin-top: 1.5rem }
.price { margin: .5rem 0 0; font-size: 1.75rem; font-weight: 650; letter-spacing: -.02em; line-height: 1.2 }
.price span { font-size: 1rem; font-weight: 400; letter-spacing: 0; color: var(--soft) }
label { display: block; margin-bottom: .35rem; font-size: .925rem; color: var(--soft) }
input { width: 100%; max-width: 24rem; padding: .55rem .75rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--soft); border-radius: .4rem }
.field { margin: 1.5rem 0 }
button, .button {
  display: inline-block; padding: .6rem 1.15rem; font: inherit; font-weight: 600; line-height: 1.4; text-align: center; text-decoration: none; cursor: pointer;
  color: var(--paper); background: var(--wing); border: 1px solid var(--wing); border-radius: .4rem;
}
button:hover, .button:hover { filter: brightness(1.08) }
button:disabled { opacity: .55; cursor: default; filter: none }
.plain { color: var(--wing); background: none }
.row { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0 0 }
.panel { padding: 1.5rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--shade) }
.panel pre { background: var(--paper) }
.panel:focus { outline: none }
.state { margin: 0 0 .25rem; font-size: 1.25rem; font-weight: 650; letter-spacing: -.015em }
.state[data-state='paid'] { color: var(--wing) }
.state[data-state='pending']::after { content: ' …' / '' }
.next { margin: 0 }
.next + noscript p, .panel form p { margin: .25rem 0 1rem }
#watching { margin: .25rem 0 0 }
#pay, #show { margin-top: 1.25rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: 1.25rem 0 0; padding-top: 1.25rem; border-top: 1px solid var(--line) }
dl div { display: contents }
dt { color: var(--soft) }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere }
.key { font-size: 1rem; user-select: all }
@media (max-width: 30rem) {
  .row > *, .row button, #pay, #show { width: 100% }
  input { max-width: none }
  dl { grid-template-columns: 1fr; gap: 0 }
  dd { margin-bottom: .6rem }
}
`

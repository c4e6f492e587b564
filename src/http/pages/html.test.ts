import { expect, test } from 'vitest'
import { html } from './html.ts'

test('values are escaped, markup is not', () => {
  const inner = html`<b>${'<script>"\'&'}</b>`
  expect(inner.markup).toBe('<b>&#60;script&#62;&#34;&#39;&#38;</b>')
  expect(html`<p>${inner}${[inner]}${7}</p>`.markup).toBe(`<p>${inner.markup}${inner.markup}7</p>`)
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { html } from './html.ts'

test('values are escaped, markup is not', () => {
  const inner = html`<b>${'<script>"\'&'}</b>`
  assert.equal(inner.markup, '<b>&#60;script&#62;&#34;&#39;&#38;</b>')
  assert.equal(html`<p>${inner}${[inner]}${7}</p>`.markup, `<p>${inner.markup}${inner.markup}7</p>`)
})

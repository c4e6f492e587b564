import type { Part } from './part.ts'

/** The parts a reader is shown, as text and as HTML, and all the others. A part may stand in both lists. */
export interface Body {
  texts: Part[]
  htmls: Part[]
  attachments: { part: Part; related: boolean }[]
}

/** Sorts the parts as RFC 8621 4.1.4 does, except that every picture is an attachment. */
export function chooseBody(root: Part): Body {
  const body: Body = { texts: [], htmls: [], attachments: [] }
  sortPart(body, root, { parent: 'mixed', first: true, text: true, html: true })
  return body
}

interface Place {
  /** Subtype of the multipart around it. */
  parent: string
  first: boolean
  /** Which of the two forms the part may belong to. */
  text: boolean
  html: boolean
}

function sortPart(body: Body, part: Part, place: Place): void {
  if (part.children.length > 0) sortMultipart(body, part, place)
  else if (!isShown(part, place)) {
    body.attachments.push({ part, related: place.parent === 'related' })
  } else {
    const isHtml = part.type === 'text/html'
    const alternative = place.parent === 'alternative'
    if (place.text && !(alternative && isHtml)) body.texts.push(part)
    if (place.html && !(alternative && !isHtml)) body.htmls.push(part)
  }
}

function sortMultipart(body: Body, part: Part, place: Place): void {
  const parent = part.type.slice('multipart/'.length)
  const [texts, htmls] = [body.texts.length, body.htmls.length]
  let { text, html } = place
  for (const [index, child] of part.children.entries()) {
    sortPart(body, child, { parent, first: index === 0, text, html })
    // Inside one of several forms, what comes first says which form it is.
    if (place.parent === 'alternative' && parent !== 'alternative' && index === 0) {
      if (child.type === 'text/plain') html = false
      if (child.type === 'text/html') text = false
    }
  }
  if (parent !== 'alternative' || !place.text || !place.html) return
  // Only one form was offered: it serves for both.
  if (body.texts.length === texts) body.texts.push(...body.htmls.slice(htmls))
  else if (body.htmls.length === htmls) body.htmls.push(...body.texts.slice(texts))
}

function isShown(part: Part, { parent, first }: Place): boolean {
  if (part.disposition === 'attachment') return false
  // A multipart without a single part in it is shown as it stands: better than nothing.
  const isText = part.type === 'text/plain' || part.type === 'text/html'
  if (!isText && !part.type.startsWith('multipart/')) return false
  return first || (parent !== 'related' && part.filename === '')
}

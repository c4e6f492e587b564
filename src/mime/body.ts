import type { Part } from './parts.ts'

/** The parts to show as text and as HTML, and the attachments. A part may be in both lists. */
export interface Body {
  texts: Part[]
  htmls: Part[]
  attachments: {
    part: Part
    related: boolean
    /** Another form of the text, as the calendar of an invitation. */
    alternative: boolean
  }[]
}

/** As RFC 8621 4.1.4, except that every image is an attachment. */
export function chooseBody(root: Part): Body {
  const body: Body = { texts: [], htmls: [], attachments: [] }
  sortPart(body, root, { parent: 'mixed', first: true, text: true, html: true, alternative: false })
  if (body.texts.length === 0 && body.htmls.length === 0) showFirstText(body)
  return body
}

/** For a mail without a body: shows the first text part that is not a file. */
function showFirstText({ texts, htmls, attachments }: Body): void {
  const at = attachments.findIndex(
    ({ part }) =>
      part.type.startsWith('text/') && part.disposition !== 'attachment' && part.filename === '',
  )
  for (const { part } of at < 0 ? [] : attachments.splice(at, 1)) {
    texts.push(part)
    htmls.push(part)
  }
}

interface PartContext {
  /** Subtype of the enclosing multipart. */
  parent: string
  first: boolean
  /** Which of the two forms of the body the part may belong to. */
  text: boolean
  html: boolean
  /** Inside a multipart/alternative, at any depth. */
  alternative: boolean
}

function sortPart(body: Body, part: Part, context: PartContext): void {
  if (part.children.length > 0) sortMultipart(body, part, context)
  else if (!isBodyPart(part, context)) {
    const { parent } = context
    const alternative = parent === 'alternative' && part.filename === ''
    body.attachments.push({ part, related: parent === 'related', alternative })
  } else {
    const isHtml = part.type === 'text/html'
    const direct = context.parent === 'alternative'
    if (context.text && !(direct && isHtml)) body.texts.push(part)
    if (context.html && !(direct && !isHtml)) body.htmls.push(part)
  }
}

function sortMultipart(body: Body, part: Part, context: PartContext): void {
  const parent = part.type.slice('multipart/'.length)
  const alternative = context.alternative || parent === 'alternative'
  const before = { texts: body.texts.length, htmls: body.htmls.length }
  let { text, html } = context
  for (const [index, child] of part.children.entries()) {
    const here = { parent, first: index === 0, text, html, alternative }
    if (alternative && parent !== 'alternative' && isBodyPart(child, here)) {
      // A multipart in an alternative belongs to the form of its text.
      if (child.type === 'text/html') text = false
      else html = false
    }
    sortPart(body, child, { ...here, text, html })
  }
  if (parent === 'alternative' && context.text && context.html) fillMissingForm(body, before)
}

/** If there is only one form, it is used for both. */
function fillMissingForm({ texts, htmls }: Body, before: { texts: number; htmls: number }): void {
  if (texts.length === before.texts) texts.push(...htmls.slice(before.htmls))
  else if (htmls.length === before.htmls) htmls.push(...texts.slice(before.texts))
}

function isBodyPart(part: Part, { parent, first }: PartContext): boolean {
  if (part.disposition === 'attachment' || part.children.length > 0) return false
  // A multipart without parts is shown as text.
  const isText = part.type === 'text/plain' || part.type === 'text/html'
  if (!isText && !part.type.startsWith('multipart/')) return false
  return first || (parent !== 'related' && part.filename === '')
}

/** Joins the lines of format=flowed text (RFC 3676). */
export function unwrapFlowed(text: string, deleteSpace: boolean): string {
  const lines: string[] = []
  let open: { depth: number; pieces: string[] } | undefined
  for (const line of text.split('\n')) {
    const depth = quoteDepth(line)
    const content = line.slice(line[depth] === ' ' ? depth + 1 : depth)
    const flows = content.endsWith(' ') && content !== '-- '
    if (open && open.depth !== depth) open = closeParagraph(lines, open)
    open ??= { depth, pieces: [] }
    open.pieces.push(flows && deleteSpace ? content.slice(0, -1) : content)
    if (!flows) open = closeParagraph(lines, open)
  }
  if (open) closeParagraph(lines, open)
  return lines.join('\n')
}

function closeParagraph(lines: string[], { depth, pieces }: { depth: number; pieces: string[] }) {
  lines.push((depth > 0 ? `${'>'.repeat(depth)} ` : '') + pieces.join(''))
  return undefined
}

function quoteDepth(line: string): number {
  let depth = 0
  while (line[depth] === '>') depth += 1
  return depth
}

/** Whether the address of an image may stay; the caller counts what is asked. */
type AllowsImage = (url: string) => boolean

/**
 * What a mail's style sheet may do here. The browser's own parser reads it and writes it again, so that no spelling of
 * ours and the browser's can differ: plain rules and media queries stay; what loads or covers something does not.
 */
export function sanitiseStyleSheet(css: string, keeps: AllowsImage): string {
  const sheet = new CSSStyleSheet()
  try {
    // A sheet made this way loads nothing and takes no @import, of which it would complain aloud.
    // None is looked for beyond the next @: else a sheet of nothing but the word would be read anew for each of them.
    sheet.replaceSync(css.replace(/@import[^;{}@]*;/gi, ''))
  } catch {
    return ''
  }
  // In raw text a `<` could end the element that holds it.
  return sanitiseRules(sheet.cssRules, keeps, 0).replaceAll('<', '\\3c ')
}

/** The same for style attributes. Mails are laid out in tables of a thousand like cells: each spelling is read once. */
export function createStyleSanitiser(keeps: AllowsImage): (css: string) => string {
  const sheet = new CSSStyleSheet()
  sheet.insertRule('a {}')
  const [rule] = sheet.cssRules
  const known = new Map<string, string>()
  return (css) => {
    const before = known.get(css)
    if (before !== undefined) return before
    if (css.length > MAX_STYLE || !(rule instanceof CSSStyleRule)) return ''
    rule.style.cssText = css
    const clean = sanitiseDeclarations(rule.style, keeps)
    known.set(css, clean)
    return clean
  }
}

const MAX_STYLE = 10_000
const MAX_DEPTH = 3

function sanitiseRules(rules: CSSRuleList, keeps: AllowsImage, depth: number): string {
  if (depth > MAX_DEPTH) return ''
  const kept: string[] = []
  for (const rule of rules) {
    if (rule instanceof CSSMediaRule) {
      // Its paper is white, whatever the reader likes.
      if (/prefers-color-scheme:\s*dark/i.test(rule.media.mediaText)) continue
      const inner = sanitiseRules(rule.cssRules, keeps, depth + 1)
      if (inner) kept.push(`@media ${rule.media.mediaText} {\n${inner}\n}`)
    } else if (rule instanceof CSSStyleRule) {
      const inner = sanitiseDeclarations(rule.style, keeps)
      if (inner) kept.push(`${rule.selectorText} { ${inner} }`)
    }
  }
  return kept.join('\n')
}

function sanitiseDeclarations(style: CSSStyleDeclaration, keeps: AllowsImage): string {
  for (const name of [...style]) {
    if (isHarmless(name, style.getPropertyValue(name), keeps)) continue
    // Set and not taken out, so that a shorthand stays one.
    if (HOLDS_IMAGES.test(name)) style.setProperty(name, 'none', style.getPropertyPriority(name))
    else style.removeProperty(name)
  }
  const text = style.cssText
  // Nothing is left to chance about shorthands: what was judged part by part is judged once more as a whole.
  return LOADS.test(text.replace(URL_PATTERN, '')) ? '' : text
}

// An address as every browser writes it again. With an escape in it nobody can be sure of it, so it does not match.
const URL_PATTERN = /url\("[^"\\]*"\)/g
// What can hold an address or bring one from elsewhere, and every escape that could spell it.
const LOADS =
  /\\|(?:url|src|image|image-set|cross-fade|element|var|env|attr|paint|expression|if)\s*\(|behavior\s*:|-moz-binding/i
const HOLDS_IMAGES = /^(?:background|list-style|border)-image(?:-source)?$/

function isHarmless(name: string, value: string, keeps: AllowsImage): boolean {
  // A part of a shorthand that is settled only later, by a variable.
  if (value === '' || name.startsWith('--')) return false
  if (name === 'position') return value !== 'fixed' && value !== 'sticky'
  const addresses = value.match(URL_PATTERN) ?? []
  if (LOADS.test(value.replace(URL_PATTERN, ''))) return countUncertain(value, keeps)
  if (addresses.length === 0) return true
  const wanted = addresses.map((address) => keeps(address.slice('url("'.length, -'")'.length)))
  return HOLDS_IMAGES.test(name) && wanted.every(Boolean)
}

/** Always false; an image set is still counted among what the mail wanted to load. */
function countUncertain(value: string, keeps: AllowsImage): false {
  for (const [, address = ''] of value.matchAll(/"(https?:[^"\\]*)"/gi)) keeps(address)
  return false
}

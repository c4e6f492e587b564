/** The URL to load instead of this one, or undefined if it may not stay; the caller counts them. */
type ImageUrl = (url: string) => string | undefined

interface SheetOptions {
  imageUrl: ImageUrl
  /** Keep rules for dark mode: the frame may be dark. */
  dark: boolean
}

/**
 * Parsed and serialised by the browser itself, so that our reading of it cannot differ from the browser's. Style rules and
 * media queries stay; what loads or overlays something does not.
 */
export function sanitiseStyleSheet(css: string, options: SheetOptions): string {
  const sheet = new CSSStyleSheet()
  try {
    // A constructed sheet loads nothing and ignores @import, with a warning in the console. The pattern stops at the next @:
    // a sheet of nothing but @import would take quadratic time.
    sheet.replaceSync(css.replace(/@import[^;{}@]*;/gi, ''))
  } catch {
    return ''
  }
  // A `<` could end the style element.
  return sanitiseRules(sheet.cssRules, options, 0).replaceAll('<', '\\3c ')
}

/** For style attributes. Cached, because mail layouts repeat the same style in a thousand table cells. */
export function createStyleSanitiser(imageUrl: ImageUrl): (css: string) => string {
  const sheet = new CSSStyleSheet()
  sheet.insertRule('a {}')
  const [rule] = sheet.cssRules
  const cache = new Map<string, string>()
  return (css) => {
    const cached = cache.get(css)
    if (cached !== undefined) return cached
    if (css.length > MAX_STYLE || !(rule instanceof CSSStyleRule)) return ''
    rule.style.cssText = css
    const clean = sanitiseDeclarations(rule.style, imageUrl)
    cache.set(css, clean)
    return clean
  }
}

const MAX_STYLE = 10_000
const MAX_DEPTH = 3
const FOR_DARK = /prefers-color-scheme:\s*dark/i

function sanitiseRules(rules: CSSRuleList, options: SheetOptions, depth: number): string {
  if (depth > MAX_DEPTH) return ''
  const clean: string[] = []
  for (const rule of rules) {
    if (rule instanceof CSSMediaRule) {
      const isUsed = options.dark || !FOR_DARK.test(rule.media.mediaText)
      const inner = isUsed && sanitiseRules(rule.cssRules, options, depth + 1)
      if (inner) clean.push(`@media ${rule.media.mediaText} {\n${inner}\n}`)
    } else if (rule instanceof CSSStyleRule) {
      const inner = sanitiseDeclarations(rule.style, options.imageUrl)
      if (inner) clean.push(`${rule.selectorText} { ${inner} }`)
    }
  }
  return clean.join('\n')
}

function sanitiseDeclarations(style: CSSStyleDeclaration, imageUrl: ImageUrl): string {
  for (const name of [...style]) {
    const value = style.getPropertyValue(name)
    const clean = cleanValue(name, value, imageUrl)
    if (clean === undefined) style.removeProperty(name)
    else if (clean !== value) style.setProperty(name, clean, style.getPropertyPriority(name))
  }
  const text = style.cssText
  // The properties were checked one by one; shorthands are checked once more as a whole.
  return LOADS.test(text.replace(URL_PATTERN, '')) ? '' : text
}

// A URL as browsers serialise it. One with an escape is ambiguous and does not match.
const URL_PATTERN = /url\("[^"\\]*"\)/g
// Whatever can contain or fetch a URL, and every escape that could spell it.
const LOADS =
  /\\|(?:url|src|image|image-set|cross-fade|element|var|env|attr|paint|expression|if)\s*\(|behavior\s*:|-moz-binding/i
const HOLDS_IMAGES = /^(?:background|list-style|border)-image(?:-source)?$/

/** The new value, or undefined to remove the property. */
function cleanValue(name: string, value: string, imageUrl: ImageUrl): string | undefined {
  // Empty: part of a shorthand that depends on a variable.
  if (value === '' || name.startsWith('--')) return undefined
  if (name === 'position') return value === 'fixed' || value === 'sticky' ? undefined : value
  // Set rather than removed, so that a shorthand stays one.
  const removed = HOLDS_IMAGES.test(name) ? 'none' : undefined
  if (LOADS.test(value.replace(URL_PATTERN, ''))) {
    countUncertain(value, imageUrl)
    return removed
  }
  let isAllowed = true
  // The frame would resolve what the sender wrote against our page: `https:x` is of our host there.
  const clean = value.replace(URL_PATTERN, (url) => {
    const kept = imageUrl(url.slice('url("'.length, -'")'.length))
    isAllowed &&= removed !== undefined && kept !== undefined
    return `url("${kept}")`
  })
  return isAllowed ? clean : removed
}

/** Counts the URLs of an image-set() as remote images. */
function countUncertain(value: string, imageUrl: ImageUrl): void {
  for (const [, url = ''] of value.matchAll(/"(https?:[^"\\]*)"/gi)) imageUrl(url)
}

/** The characters that a text in HTML names; names that are not known here stay as they are. */
export function decodeEntities(text: string): string {
  return text.includes('&') ? text.replace(ENTITY, decode) : text
}

const ENTITY = /&(?:#x([0-9a-f]{1,8})|#([0-9]{1,8})|([a-z]{2,8}[0-9]{0,2}));?/gi
const LATIN1 = `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr
deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest
Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml
ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig
agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml
eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`

const NAMED = new Map<string, string>([
  ...LATIN1.split(/\s/).map((name, at): [string, string] => [name, String.fromCharCode(0xa0 + at)]),
  ...Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    ndash: '–',
    mdash: '—',
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    bdquo: '„',
    hellip: '…',
    bull: '•',
    euro: '€',
    trade: '™',
    oelig: 'œ',
    zwnj: '\u200c',
    zwj: '\u200d',
    ensp: ' ',
    emsp: ' ',
    thinsp: ' ',
    rarr: '→',
  }),
])

function decode(whole: string, hex: string, decimal: string, name: string): string {
  if (name) return NAMED.get(name) ?? NAMED.get(name.toLowerCase()) ?? whole
  const code = hex ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10)
  const valid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return valid ? String.fromCodePoint(code) : '\ufffd'
}

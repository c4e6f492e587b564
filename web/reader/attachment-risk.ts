/** `double`: a harmless extension before the real one; `turned`: bidi marks in the name. */
export type Risk = 'double' | 'program' | 'page' | 'macro' | 'archive' | 'turned'

/** Most severe first. */
export function risksOf(filename: string, contentType: string): Risk[] {
  const parts = filename.toLowerCase().split('.')
  const extension = parts.length > 1 ? (parts.at(-1) ?? '').trim() : ''
  const kind =
    KIND_OF_EXTENSION[extension] ?? KIND_OF_TYPE.find(([type]) => type.test(contentType))?.[1]
  const before = parts.length > 2 ? (parts.at(-2) ?? '').trim() : ''
  const double = kind !== undefined && kind !== 'archive' && LOOKS_HARMLESS.has(before)
  return [
    ...(double ? (['double'] as const) : []),
    ...(kind ? [kind] : []),
    ...(BIDI_MARKS.test(filename) ? (['turned'] as const) : []),
  ]
}

// With these the extension may not be displayed last.
const BIDI_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

const EXTENSIONS: Record<Exclude<Risk, 'double' | 'turned'>, string> = {
  program:
    'exe com scr pif cpl msi msp msix appx bat cmd ps1 psm1 vb vbs vbe js jse mjs cjs wsf wsh ws wsb hta lnk url reg inf scf ' +
    'jar jnlp class dll dylib sys ocx gadget chm hlp application appref-ms settingcontent-ms sct shs xll rdp library-ms ' +
    'search-ms diagcab apk aab ipa dmg pkg mpkg app command workflow terminal scpt deb rpm appimage run bin sh bash zsh ' +
    'csh fish py pyw pyc rb pl php desktop service crx xpi swf one iqy slk msc mobileconfig',
  page: 'html htm xhtml xht shtml mht mhtml webarchive svg svgz xml xsl xslt',
  macro:
    'docm dotm xlsm xltm xlam xlsb pptm potm ppam ppsm sldm doc dot xls xlt xla ppt pot pps rtf pub accdb accde mdb mde',
  archive:
    'zip zipx rar 7z gz tgz tar bz2 tbz xz txz zst lz lzh arj ace cab iso img vhd vhdx udf wim z uue',
}
const KIND_OF_EXTENSION = Object.assign(
  Object.create(null),
  ...Object.entries(EXTENSIONS).map(([kind, list]) =>
    Object.fromEntries(list.split(' ').map((extension) => [extension, kind])),
  ),
) as Partial<Record<string, keyof typeof EXTENSIONS>>

// For names without a known extension.
const KIND_OF_TYPE: readonly (readonly [RegExp, keyof typeof EXTENSIONS])[] = [
  [/^text\/html|xhtml|svg/i, 'page'],
  [/msdownload|dosexec|x-executable|x-sh\b|javascript|java-archive|x-msi|mach-binary/i, 'program'],
  [/macroenabled|msword|ms-excel|ms-powerpoint/i, 'macro'],
  [/zip|x-rar|7z|x-tar|gzip|iso9660/i, 'archive'],
]

const LOOKS_HARMLESS = new Set(
  'pdf doc docx xls xlsx ppt pptx txt csv jpg jpeg png gif webp mp3 mp4 wav mov htm html rtf odt zip'.split(
    ' ',
  ),
)

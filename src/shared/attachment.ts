const NAMES: readonly (readonly [RegExp, string])[] = [
  [/wordprocessingml/, 'DOCX'],
  [/spreadsheetml/, 'XLSX'],
  [/presentationml/, 'PPTX'],
  [/^application\/msword/, 'DOC'],
  [/ms-excel$/, 'XLS'],
  [/ms-powerpoint$/, 'PPT'],
  [/opendocument\.text/, 'ODT'],
  [/opendocument\.spreadsheet/, 'ODS'],
  [/^application\/(?:x-)?zip/, 'ZIP'],
  [/^text\/plain/, 'TXT'],
  [/^text\/calendar/, 'ICS'],
  [/^message\/rfc822/, 'EML'],
  [/^image\/jpe?g/, 'JPEG'],
  [/^image\/svg/, 'SVG'],
  [/^audio\/mpeg/, 'MP3'],
]
// Types whose second part is the usual name.
const PLAIN =
  /^(?:application\/(?:pdf|json|rtf|gzip)|text\/(?:csv|html|xml|markdown)|(?:image|audio|video)\/\w{2,5})$/

/** `PDF` for `application/pdf`. By the declared type only: the extension may be forged, and is shown anyway. */
export function typeName(contentType: string): string {
  const type = contentType.toLowerCase()
  const name = NAMES.find(([pattern]) => pattern.test(type))?.[1]
  return name ?? (PLAIN.test(type) ? type.slice(type.indexOf('/') + 1).toUpperCase() : contentType)
}

interface Disposition {
  inline: boolean
  contentId: string | null
  contentType: string
}

/** What a person calls attachments: not images that the HTML displays, nor an invitation that is also attached as a file. */
export function regularAttachments<Part extends Disposition>(parts: readonly Part[]): Part[] {
  const isFile = (part: Part) => isCalendar(part) && !part.inline
  const hasFile = parts.some(isFile)
  return parts.filter((part) => {
    if (isCalendar(part)) return isFile(part) || !hasFile
    return !isInlineImage(part)
  })
}

export function isCalendar({ contentType }: Pick<Disposition, 'contentType'>): boolean {
  return /^(?:text\/calendar|application\/ics)\b/i.test(contentType)
}

/** An image that the HTML displays. */
export function isInlineImage({ inline, contentId, contentType }: Disposition): boolean {
  return inline && contentId !== null && /^image\/(?!svg)/.test(contentType)
}

import { expect, test } from 'vitest'
import { regularAttachments, typeName } from './attachment.ts'

test('common types have the names that people know, others are shown as they are', () => {
  for (const [type, name] of [
    ['application/pdf', 'PDF'],
    ['Image/PNG', 'PNG'],
    ['image/svg+xml', 'SVG'],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'DOCX'],
    ['application/x-zip-compressed', 'ZIP'],
    ['text/plain; charset=utf-8', 'TXT'],
    ['application/octet-stream', 'application/octet-stream'],
    ['application/x-msdownload', 'application/x-msdownload'],
  ] as const) {
    expect(typeName(type)).toBe(name)
  }
})

test('an invitation counts once, and images that the HTML displays do not count', () => {
  const part = (contentType: string, inline: boolean, contentId: string | null = null) => {
    return { contentType, inline, contentId }
  }
  const body = part('text/calendar', true)
  const file = part('application/ics', false)
  const picture = part('image/png', true, 'a@b')
  const pdf = part('application/pdf', false)
  for (const [parts, counted] of [
    [[body, file], [file]],
    [[body], [body]],
    [
      [body, pdf, picture],
      [body, pdf],
    ],
    [
      [file, file],
      [file, file],
    ],
  ] as const) {
    expect(regularAttachments(parts)).toStrictEqual(counted)
  }
})

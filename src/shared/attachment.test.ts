import { expect, test } from 'vitest'
import { typeName } from './attachment.ts'

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

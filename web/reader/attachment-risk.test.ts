import { expect, test } from 'vitest'
import { risksOf } from './attachment-risk.ts'

for (const [name, file, type, expected] of [
  ['a picture is harmless', 'cat.png', 'image/png', []],
  ['a document without macros is harmless', 'report.docx', 'application/vnd.x', []],
  ['a PDF is harmless', 'invoice.pdf', 'application/pdf', []],
  ['a program', 'setup.EXE', 'application/octet-stream', ['program']],
  ['a script', 'run.ps1', 'text/plain', ['program']],
  ['a shortcut', 'open.lnk', 'application/octet-stream', ['program']],
  ['a phone app', 'game.apk', 'application/zip', ['program']],
  ['a phone configuration profile', 'wifi.mobileconfig', 'text/xml', ['program']],
  ['a Windows Sandbox configuration', 'try.wsb', 'text/xml', ['program']],
  ['a library', 'lib.dylib', 'application/octet-stream', ['program']],
  ['a web archive', 'form.webarchive', 'application/octet-stream', ['page']],
  ['a web page', 'form.html', 'text/html', ['page']],
  ['an SVG image', 'logo.svg', 'image/svg+xml', ['page']],
  ['a document with macros', 'plan.docm', 'application/vnd.x', ['macro']],
  ['an old document may have macros', 'plan.xls', 'application/vnd.ms-excel', ['macro']],
  ['an archive', 'all.zip', 'application/zip', ['archive']],
  ['a disk image counts as an archive', 'disk.iso', 'application/x-cd', ['archive']],
  ['two extensions', 'invoice.pdf.exe', 'application/pdf', ['double', 'program']],
  ['two extensions with spaces between', 'invoice.pdf      .exe', 'x/y', ['double', 'program']],
  ['a web page named like a picture', 'photo.jpg.html', 'image/jpeg', ['double', 'page']],
  ['tar.gz is not a double extension', 'logs.tar.gz', 'application/gzip', ['archive']],
  ['a version number is not an extension', 'report.v1.2.pdf', 'application/pdf', []],
  ['bidi marks in the name', 'invoice\u202Efdp.exe', 'x/y', ['program', 'turned']],
  ['without an extension the type counts', 'invoice', 'application/x-msdownload', ['program']],
  ['a web page by its type', 'invoice', 'text/html', ['page']],
  ['an extension named like an Object property is harmless', 'x.constructor', 'x/y', []],
  ['an empty name is harmless', '', '', []],
] as const) {
  test(name, () => expect(risksOf(file, type)).toStrictEqual(expected))
}

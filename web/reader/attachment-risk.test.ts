import assert from 'node:assert/strict'
import { test } from 'vitest'
import { risksOf } from './attachment-risk.ts'

for (const [name, file, type, expected] of [
  ['a picture is harmless', 'cat.png', 'image/png', []],
  ['a document without macros is harmless', 'report.docx', 'application/vnd.x', []],
  ['a PDF is left to its reader', 'invoice.pdf', 'application/pdf', []],
  ['a program is told', 'setup.EXE', 'application/octet-stream', ['program']],
  ['a script is told', 'run.ps1', 'text/plain', ['program']],
  ['a shortcut is told', 'open.lnk', 'application/octet-stream', ['program']],
  ['an app for a phone is told', 'game.apk', 'application/zip', ['program']],
  ['settings for a phone are told', 'wifi.mobileconfig', 'text/xml', ['program']],
  ['a sandbox with its own commands is told', 'try.wsb', 'text/xml', ['program']],
  ['a part of a program is told', 'lib.dylib', 'application/octet-stream', ['program']],
  ['a kept page is told', 'form.webarchive', 'application/octet-stream', ['page']],
  ['a web page is told', 'form.html', 'text/html', ['page']],
  ['a drawing that can hold scripts is told', 'logo.svg', 'image/svg+xml', ['page']],
  ['a document with macros is told', 'plan.docm', 'application/vnd.x', ['macro']],
  ['an old document may have macros', 'plan.xls', 'application/vnd.ms-excel', ['macro']],
  ['an archive is told', 'all.zip', 'application/zip', ['archive']],
  ['an image of a disk is an archive', 'disk.iso', 'application/x-cd', ['archive']],
  ['two endings are told', 'invoice.pdf.exe', 'application/pdf', ['double', 'program']],
  ['spaces between them hide nothing', 'invoice.pdf      .exe', 'x/y', ['double', 'program']],
  ['a page behind a picture is told', 'photo.jpg.html', 'image/jpeg', ['double', 'page']],
  ['an archive of many is no trick', 'logs.tar.gz', 'application/gzip', ['archive']],
  ['a name with a version is no trick', 'report.v1.2.pdf', 'application/pdf', []],
  ['marks that turn letters around are told', 'invoice\u202Efdp.exe', 'x/y', ['program', 'turned']],
  ['without an ending the type counts', 'invoice', 'application/x-msdownload', ['program']],
  ['a page by its type is told', 'invoice', 'text/html', ['page']],
  ['a name that every object has is none of ours', 'x.constructor', 'x/y', []],
  ['an empty name is not', '', '', []],
] as const) {
  test(name, () => assert.deepEqual(risksOf(file, type), expected))
}

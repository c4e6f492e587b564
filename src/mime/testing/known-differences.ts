/** Mails of Stalwart's test suite that we parse differently, and why. The test fails if the list is incomplete or outdated. */
export const KNOWN_DIFFERENCES: { why: string; mails: string[]; fields: string[] }[] = [
  {
    why: 'raw Latin-1 in a header: they return U+FFFD, we decode it',
    mails: ['legacy/010', 'legacy/020', 'legacy/022', 'legacy/027', 'legacy/052'],
    fields: ['subject', 'to'],
  },
  { why: 'the same, in one header only', mails: ['legacy/017'], fields: ['to'] },
  {
    why: 'the same in file names',
    mails: ['legacy/016', 'legacy/023', 'legacy/026'],
    fields: ['filenames'],
  },
  { why: 'Latin-1 text without a charset', mails: ['legacy/052'], fields: ['text'] },
  {
    why: 'size of a text attachment: they count it as UTF-8, we count the original bytes',
    mails: ['legacy/023', 'legacy/026', 'legacy/045', 'legacy/047'],
    fields: ['sizes'],
  },
  {
    why: 'a file name with a path or a drive is sanitized',
    mails: ['legacy/035', 'legacy/039', 'rfc/001'],
    fields: ['filenames'],
  },
  {
    why: 'text in an unclosed multipart: they attach it, we show it',
    mails: ['malformed/002', 'malformed/003', 'malformed/004', 'malformed/006'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'a part ends at any open boundary; with them, only at the innermost',
    mails: ['malformed/001', 'malformed/008', 'malformed/009', 'malformed/011', 'malformed/016'],
    fields: ['text', 'count', 'filenames', 'sizes'],
  },
  {
    why: 'the same, with messages as parts',
    mails: ['malformed/012'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'a part header that ends at a delimiter: they count an additional empty part',
    mails: ['malformed/007'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'an empty disposition with a file name: we use the name',
    mails: ['malformed/017'],
    fields: ['filenames'],
  },
  {
    why: 'the text is blank: we convert the HTML',
    mails: ['malformed/019'],
    fields: ['text'],
  },
  {
    why: 'two Content-Type fields: they use the last, we use the first',
    mails: ['malformed/020', 'malformed/021'],
    fields: ['text'],
  },
  {
    why: 'prose declared as base64: they return it undecoded, we decode its base64 characters',
    mails: ['rfc/000'],
    fields: ['sizes'],
  },
  {
    why: 'the same, and they attach it',
    mails: ['thirdparty/002'],
    fields: ['text', 'count', 'filenames', 'sizes'],
  },
  { why: 'we remove NUL from text', mails: ['thirdparty/000'], fields: ['text'] },
  {
    why: 'they accept a delimiter in the middle of a line',
    mails: ['thirdparty/005'],
    fields: ['text'],
  },
  { why: 'an address needs an at sign', mails: ['thirdparty/007'], fields: ['from'] },
  {
    why: 'the only part is an unknown text subtype: we show it, they attach it',
    mails: ['thirdparty/012'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'three unclosed message attachments: they nest two of them in the first',
    mails: ['thirdparty/015'],
    fields: ['count', 'filenames', 'sizes'],
  },
]

/** Where we read a mail of Stalwart's otherwise than its authors, and why. The test holds it complete and free of stale lines. */
export const KNOWN_DIFFERENCES: { why: string; mails: string[]; fields: string[] }[] = [
  {
    why: 'raw Latin-1 letters in a header: they give U+FFFD, we give the letters',
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
    why: 'of an attached text they count the bytes after conversion to UTF-8; we give the bytes that came',
    mails: ['legacy/023', 'legacy/026', 'legacy/045', 'legacy/047'],
    fields: ['sizes'],
  },
  {
    why: 'a name with a path or a drive in it is made safe',
    mails: ['legacy/035', 'legacy/039', 'rfc/001'],
    fields: ['filenames'],
  },
  {
    why: 'they make an attachment of a text whose multipart is never closed; we show it',
    mails: ['malformed/002', 'malformed/003', 'malformed/004', 'malformed/006'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'they let only the innermost boundary end a part; we end it at any open one',
    mails: ['malformed/001', 'malformed/008', 'malformed/009', 'malformed/011', 'malformed/016'],
    fields: ['text', 'count', 'filenames', 'sizes'],
  },
  {
    why: 'the same, with mails as parts',
    mails: ['malformed/012'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'a part header that runs into a delimiter: they count an empty part more',
    mails: ['malformed/007'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'a disposition without a word but with a file name: we keep the name',
    mails: ['malformed/017'],
    fields: ['filenames'],
  },
  {
    why: 'the text is blank: we make one from the HTML',
    mails: ['malformed/019'],
    fields: ['text'],
  },
  {
    why: 'two Content-Type headers: they take the last, we the first',
    mails: ['malformed/020', 'malformed/021'],
    fields: ['text'],
  },
  {
    why: 'prose where base64 was promised: they give it undecoded, we decode what letters there are',
    mails: ['rfc/000'],
    fields: ['sizes'],
  },
  {
    why: 'the same, and they make an attachment of it',
    mails: ['thirdparty/002'],
    fields: ['text', 'count', 'filenames', 'sizes'],
  },
  { why: 'NUL is taken out of a text', mails: ['thirdparty/000'], fields: ['text'] },
  {
    why: 'they find a delimiter in the middle of a line',
    mails: ['thirdparty/005'],
    fields: ['text'],
  },
  { why: 'an address needs an at sign', mails: ['thirdparty/007'], fields: ['from'] },
  {
    why: 'a text of a kind of its own is all there is: we show it, they attach it',
    mails: ['thirdparty/012'],
    fields: ['count', 'filenames', 'sizes'],
  },
  {
    why: 'three attached mails that are never closed: they put two of them into the first',
    mails: ['thirdparty/015'],
    fields: ['count', 'filenames', 'sizes'],
  },
]

/** A mail of the scripted server, and what it is to get wrong about it. */
export interface ScriptedMail {
  uid: number
  raw: string
  /** X-GM-MSGID */
  id?: string
  /** Lies: what to tell instead of the truth. */
  size?: number
  /** The literal's size, whatever follows it. */
  announce?: number
  /** The body that comes when this one is asked for. */
  body?: string
  /** The UID under which the body comes. */
  answersAs?: number
}

export function uidsIn(set: string, mails: readonly ScriptedMail[]): number[] {
  const all = mails.map(({ uid }) => uid)
  const last = Math.max(0, ...all)
  const ranges = set.split(',').map((part) => {
    const [from = 0, to = from] = part.split(':').map((end) => (end === '*' ? last : Number(end)))
    return [Math.min(from, to), Math.max(from, to)] as const
  })
  return all.filter((uid) => ranges.some(([from, to]) => from <= uid && uid <= to))
}

export function fetchAnswer(command: string, mails: readonly ScriptedMail[]): string {
  const uids = uidsIn(/^UID FETCH (\S+)/.exec(command)?.[1] ?? '', mails)
  const fields = /HEADER\.FIELDS \(([^)]*)\)/.exec(command)?.[1]
  const answers = mails
    .filter(({ uid }) => uids.includes(uid))
    .map((mail) => (fields === undefined ? bodyAnswer(mail) : headAnswer(mail, fields)))
  return `${answers.join('')}% OK\r\n`
}

function headAnswer({ uid, raw, size, id }: ScriptedMail, fields: string): string {
  const wanted = fields.toLowerCase().split(' ')
  const lines = (raw.split('\r\n\r\n')[0] ?? '')
    .split('\r\n')
    .filter((line) => wanted.includes(line.split(':')[0]?.toLowerCase() ?? ''))
  const block = `${lines.join('\r\n')}\r\n\r\n`
  const facts = [
    `UID ${uid}`,
    `RFC822.SIZE ${size ?? raw.length}`,
    'INTERNALDATE "15-Nov-2026 05:00:00 +0000"',
    ...(id ? [`X-GM-MSGID ${id}`] : []),
  ].join(' ')
  return `* 1 FETCH (${facts} BODY[HEADER.FIELDS (${fields})] {${block.length}}\r\n${block})\r\n`
}

function bodyAnswer({ uid, raw, announce, body = raw, answersAs = uid }: ScriptedMail): string {
  return `* 1 FETCH (UID ${answersAs} BODY[] {${announce ?? body.length}}\r\n${body})\r\n`
}

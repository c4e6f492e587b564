import { formatShortTime } from '../site/format.ts'
import { language } from '../site/i18n.ts'
import type { MailLogLine } from './api.ts'
import { listView } from './list.tsx'
import { a, sizeText } from './texts.ts'

const TONES = {
  accepted: 'good',
  refused: 'bad',
  deferred: 'warn',
  aborted: 'warn',
  ignored: '',
} as const satisfies Record<MailLogLine['result'], string>
const RESULTS = Object.keys(TONES) as MailLogLine['result'][]

/** Mails and refused commands; what is shown of an address is the operator's choice. */
export const mailLogView = listView('mail-log', () => ({
  lead: a('admin_log_lead'),
  find: [
    { name: 'to', label: a('admin_mail_to') },
    { name: 'from', label: a('admin_mail_from') },
    { name: 'ip', label: a('admin_log_client') },
    {
      name: 'result',
      label: a('admin_log_result'),
      options: [['', a('admin_log_any')], ...RESULTS.map(resultOption)],
    },
  ],
  head: ({ value }) => value?.mode === 'off' && <p class="notice">{a('admin_log_off')}</p>,
  entry(line) {
    const { number, result, client_ip: ip, account, helo, count } = line
    return {
      key: number,
      name: titleOf(line),
      badge: [a(`admin_log_${result}`), TONES[result]],
      facts: [
        [a('admin_log_time'), formatShortTime(line.logged_at_iso, 'medium')],
        [a('admin_log_reason'), reasonOf(line)],
        [a('admin_log_client'), account || (helo === '' ? ip : `${ip} (${helo})`)],
        [a('admin_size'), line.size === 0 ? null : sizeText(line.size)],
        [a('admin_log_duration'), line.ms === 0 ? null : `${numberText(line.ms)} ms`],
        ['TLS', line.tls || null],
        [a('admin_log_id'), line.id || null],
        [a('admin_log_counted'), count === 1 ? null : numberText(count)],
      ],
    }
  },
}))

function resultOption(result: MailLogLine['result']) {
  return [result, a(`admin_log_${result}`)] as const
}

/** What it is about, as far as that is known. */
function titleOf({ sender, recipients, account, client_ip: ip }: MailLogLine): string {
  if (recipients === '') return sender || account || ip
  return `${sender || '?'} → ${recipients}`
}

/** Replies are in English, as they were sent. */
function reasonOf({ command, reason }: MailLogLine): string | null {
  if (reason === '') return null
  return command === '' ? reason : `${command}: ${reason}`
}

function numberText(number: number): string {
  return number.toLocaleString(language.value)
}

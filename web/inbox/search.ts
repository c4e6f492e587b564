import type { Summary } from '../site/shapes.ts'

/** True when each word of the query stands in the sender, the subject or the code. */
export function matches(message: Summary, query: string): boolean {
  const { sender_name, sender_email, subject, code } = message
  const text = folded([sender_name, sender_email, subject, code ?? ''].join('\n'))
  return folded(query)
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** Without case and accents: who searches for cafe means Café too. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

import type { Doubt } from './where.ts'

/** What is said of each doubt about a link. */
export const DOUBTS = {
  userinfo: 'leave_userinfo',
  letters: 'leave_letters',
  number: 'leave_number',
  port: 'leave_port',
  open: 'leave_open_line',
} as const satisfies Record<Doubt, string>

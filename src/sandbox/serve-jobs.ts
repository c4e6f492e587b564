import { toError } from '../core/problem.ts'

const FRAMES = 3
const FRAME = /^ +(at .+)$/gm
const ABOVE_SOURCE = /file:\/\/\S*?\/(?=(src|node_modules)\/)/g

/** What kind of fault it was and where in the code. Never its message, which may quote the mail. */
export function errorLocation(fault: unknown): string {
  const { name, message, stack = '' } = toError(fault)
  const frames = [...stack.replace(message, () => '').matchAll(FRAME)].slice(0, FRAMES)
  return [name, ...frames.map(([, frame = '']) => frame.replace(ABOVE_SOURCE, ''))].join(' ')
}

/** What the documents read of a parameter's schema. */
export interface Field {
  type?: string
  minimum?: number
  maximum?: number
  description?: string
}

/** The type of a parameter in words for people. */
export function typeText({ type = '', minimum, maximum }: Field): string {
  if (type === 'boolean') return '0 or 1'
  if (type !== 'integer') return 'text'
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  return bounded ? `${minimum ?? 0} to ${maximum}` : 'integer'
}

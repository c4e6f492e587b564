export type RecordReader = ReturnType<typeof recordReader>

interface TextRule {
  form?: RegExp
  fallback?: string | undefined
}

/** Reads one object of a settings file field by field. Faults name the place and never quote what stands there: it may be a secret. */
export function recordReader(where: string, value: unknown, fields: readonly string[]) {
  if (!isRecord(value)) throw new Error(`${where} is no object`)
  const stranger = Object.keys(value).find((name) => !fields.includes(name))
  if (stranger) throw new Error(`${where} has a field ${stranger}; there are ${fields.join(', ')}`)
  const given = (name: string): unknown => value[name] ?? undefined

  function count(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
    const number = given(name)
    if (
      typeof number === 'number' &&
      Number.isInteger(number) &&
      number >= least &&
      number <= most
    ) {
      return number
    }
    const range = most === Number.MAX_SAFE_INTEGER ? `${least} on` : `${least} to ${most}`
    throw new Error(`${where}: ${name} must be a whole number from ${range}`)
  }

  return {
    given,
    count,
    optional: (name: string, least: number, most?: number): number | undefined =>
      given(name) === undefined ? undefined : count(name, least, most),
    text(name: string, { form = /./s, fallback }: TextRule = {}): string {
      const text = given(name) ?? fallback
      if (typeof text === 'string' && form.test(text)) return text
      throw new Error(`${where}: ${name} is missing or not as it must be`)
    },
    flag(name: string, fallback: boolean): boolean {
      const flag = given(name) ?? fallback
      if (typeof flag === 'boolean') return flag
      throw new Error(`${where}: ${name} must be true or false`)
    },
  }
}

/** The list in a JSON file; undefined when it is no list, or no JSON. */
export function listIn(text: string): unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : undefined
  } catch {
    // Not JSON.parse's own words: they quote the text, and that may hold secrets.
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

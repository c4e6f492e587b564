import { cleanLine } from '../../base/text.ts'

/** Why there is no certificate: what the CA said, or what was wrong with its response. */
export class AcmeError extends Error {
  /** The last part of the type of RFC 8555 6.7, such as `rateLimited`; empty if the CA did not send a problem document. */
  readonly type: string
  /** When the CA allows another attempt. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, { type = '', retryAfterMs, ...options }: AcmeErrorOptions = {}) {
    super(cleanLine(message, MAX_LENGTH), options)
    this.type = type
    this.retryAfterMs = retryAfterMs
  }
}

interface AcmeErrorOptions extends ErrorOptions {
  type?: string
  retryAfterMs?: number | undefined
}

// It is logged and stored.
const MAX_LENGTH = 500

const TYPE = /^urn:ietf:params:acme:error:(\w{1,40})$/

/** From a problem document (RFC 7807) of a response, an authorization or an order. */
export function acmeProblem(
  what: string,
  document: unknown,
  retryAfterMs?: number | undefined,
): AcmeError {
  const { type, detail } = asRecord(document)
  const name = TYPE.exec(String(type))?.[1] ?? ''
  const text = typeof detail === 'string' ? detail : 'no reason given'
  const label = name === '' ? what : `${what}: ${name}`
  return new AcmeError(`${label}: ${text}`, { type: name, retryAfterMs })
}

type JsonObject = Record<string, unknown>

export function asRecord(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** A JSON object; undefined if the text is none. */
export function parseRecord(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Structured fields of a log line. Never a token, a key, a body or a full address: see maskAddress. */
export type LogFacts = Record<
  string,
  string | number | boolean | null | undefined | Error | Verbatim
>

/** A text that is not redacted: addresses of the mail log, which the operator's setting masks. */
export interface Verbatim {
  verbatim: string
}

export function verbatim(text: string): Verbatim {
  return { verbatim: text }
}

/** One line per event. Errors are passed as `err`. */
export interface Log {
  debug(facts: LogFacts, message: string): void
  info(facts: LogFacts, message: string): void
  warn(facts: LogFacts, message: string): void
  error(facts: LogFacts, message: string): void
}

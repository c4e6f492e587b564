/** Plain values beside the sentence. Never a token, a key, a body or a whole address: see maskAddress. */
export type LogFacts = Record<string, string | number | boolean | null | undefined | Error>

/** What a part may say to the operator: one line per event. A fault travels as `err`. */
export interface Log {
  debug(facts: LogFacts, sentence: string): void
  info(facts: LogFacts, sentence: string): void
  warn(facts: LogFacts, sentence: string): void
  error(facts: LogFacts, sentence: string): void
}

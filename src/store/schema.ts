/** Each has tables, and steps that lead to them, of its own. */
export type Kind = 'mail' | 'shop'

/** `what` was made by a program that knows more than this one. */
export class NewerSchema extends Error {
  constructor(what: string, at: number, known: number) {
    super(
      `${what} has schema ${at}, this program knows ${known}. Start the newer program that made it, or restore a backup.`,
    )
  }
}

/** A schema that a service of an older version may still use, and that a command must not migrate under it. */
export class OlderSchema extends Error {}

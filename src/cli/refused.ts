/** A line for the person at the terminal instead of a stack. */
export class Refused extends Error {
  /** 1: it could not be done. 2: the command line itself is wrong. */
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

export type Print = (line: string) => void

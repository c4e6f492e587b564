import { OperatorError } from './problem.ts'

/** What is wrong on this machine, and what to do about it. */
export interface Fault {
  seen: string
  fix: string
}

/** For the command line, which prints it without a stack trace; `where` is the setting to look at. */
export function operatorError(where: string, { seen, fix }: Fault): OperatorError {
  return new OperatorError(`${where}: ${seen}. ${fix}.`)
}

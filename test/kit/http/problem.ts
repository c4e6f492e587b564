import { Problem, type ProblemCode } from '../../../src/base/problem.ts'

/** For assert.rejects: true for a Problem with this code. */
export function isProblem(code: ProblemCode): (error: unknown) => boolean {
  return (error) => error instanceof Problem && error.code === code
}

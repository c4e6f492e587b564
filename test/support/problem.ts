import { Problem, type ProblemCode } from '../../src/core/problem.ts'

/** For assert.rejects: whether this is a refusal of that code. */
export function isProblem(code: ProblemCode): (error: unknown) => boolean {
  return (error) => error instanceof Problem && error.code === code
}

import { beforeEach, type TestContext } from 'vitest'

/** For the tests around the call: they are skipped with the reason where there is a problem. In CI, they fail. */
export function skipIfProblem(problem: string | undefined): void {
  beforeEach((context) => skipOrFail(problem, context))
}

export function skipOrFail(problem: string | undefined, context: Pick<TestContext, 'skip'>): void {
  if (problem !== undefined && process.env['CI']) throw new Error(problem)
  if (problem !== undefined) context.skip(problem)
}

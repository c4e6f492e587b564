import type { DNSResolver } from 'mailauth'
import { type Answers, keyOf, type Question, RECORD_TYPES } from './job.ts'

/** Answers what is known; what is not is noted, and looks like a failure until somebody has asked. */
export function knownAnswers(answers: Answers, maxQuestions = Number.POSITIVE_INFINITY) {
  const asked = new Set<string>()
  const unknown = new Map<string, Question>()

  async function resolve(name: string, type: string) {
    const question = { name, type: RECORD_TYPES.find((one) => one === type) ?? 'TXT' }
    const key = keyOf(question)
    asked.add(key)
    if (asked.size > maxQuestions) throw fault('ENOTFOUND')
    const answer = answers.get(key)
    if (answer && 'records' in answer) return answer.records
    if (!answer) unknown.set(key, question)
    throw fault(answer?.fault ?? 'EUNKNOWN')
  }

  return {
    // Its type leaves out the records of MX.
    resolver: resolve as DNSResolver,
    questions: () => [...unknown.values()],
  }
}

function fault(code: string): Error {
  return Object.assign(new Error(code), { code })
}

import type { IncomingHttpHeaders } from 'node:http'
import { Problem, type ProblemCode } from '../../base/problem.ts'
import { problemResponse } from '../../http/server/problem-response.ts'
import type { HttpResponse } from '../../http/server/response.ts'
import { isPlainJson, mediaType } from './formats.ts'

interface Violation {
  propertyPath: 'address' | 'password'
  message: string
  /** Of the constraint, in Symfony. */
  code: string
}

/** 422, with the fields that are wrong. */
export class InvalidFields extends Problem {
  readonly violations: readonly Violation[]

  constructor(violations: readonly Violation[]) {
    const sentences = violations.map(({ propertyPath, message }) => `${propertyPath}: ${message}`)
    super('invalid_parameter', sentences.join('\n'))
    this.violations = violations
  }
}

const BLANK = 'c1051bb4-d103-4f74-8988-acbcafc7fdc3'
const NOT_AN_EMAIL = 'bd79c0ab-ddba-46cc-a703-a7a4b08de310'
const NOT_UNIQUE = '23bd9dbf-6b9b-41cd-a99e-4844bcf3077f'
const NO_CHOICE = '8e179f1b-97aa-4560-a02f-2a8b42e49df7'

export function blankField(propertyPath: Violation['propertyPath']): Violation {
  return { propertyPath, message: 'This value should not be blank.', code: BLANK }
}

const ofAddress = (message: string, code: string) =>
  new InvalidFields([{ propertyPath: 'address', message, code }])

export const invalidAddress = () =>
  ofAddress('This value is not a valid email address.', NOT_AN_EMAIL)
export const unknownDomain = (host: string) =>
  ofAddress(`The domain "${host}" is not valid.`, NO_CHOICE)

/** What createSession refuses, as a fault of the address; any other error as it is. */
export function addressFault(error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  if (error.code === 'address_taken') return ofAddress('This value is already used.', NOT_UNIQUE)
  return /^(?:invalid|reserved)_prefix$/.test(error.code) ? invalidAddress() : error
}

/** Texts of the library that checks the tokens of mail.tm. */
const TOKEN_TEXTS: Partial<Record<ProblemCode, string>> = {
  missing_parameter: 'JWT Token not found',
  invalid_token: 'Invalid JWT Token',
  session_expired: 'Expired JWT Token',
}

/** Of a request that needs a token. */
export const tokenProblem = problemIn(TOKEN_TEXTS)
/** Of any other. */
export const openProblem = problemIn({})

function problemIn(texts: typeof TOKEN_TEXTS) {
  return (
    problem: Problem,
    _deps: unknown,
    { headers: asked, requestId }: { headers: IncomingHttpHeaders; requestId: string },
  ): HttpResponse => {
    const made = problemResponse(problem, requestId)
    const text = texts[problem.code]
    if (text !== undefined || made.status === 401) {
      const message = text ?? problem.message
      return { ...made, status: 401, body: JSON.stringify({ code: 401, message }) }
    }
    const violations = problem instanceof InvalidFields ? problem.violations : undefined
    const status = violations ? 422 : made.status
    const fault = { status, detail: status === 404 ? 'Not Found' : problem.message, violations }
    const { accept } = asked
    const body = isPlainJson(accept) ? plainFault(fault) : hydraFault(fault)
    const headers = { ...made.headers, 'content-type': mediaType(accept) }
    return { ...made, status, headers, body: JSON.stringify(body) }
  }
}

interface Fault {
  status: number
  detail: string
  violations: readonly Violation[] | undefined
}

const TITLE = 'An error occurred'

function plainFault({ status, detail, violations }: Fault) {
  const type = 'https://tools.ietf.org/html/rfc2616#section-10'
  return { type, title: TITLE, status, detail, violations }
}

function hydraFault({ detail, violations }: Fault) {
  const type = violations ? 'ConstraintViolationList' : 'Error'
  return {
    '@context': `/contexts/${type}`,
    '@type': violations ? type : 'hydra:Error',
    'hydra:title': TITLE,
    'hydra:description': detail,
    violations,
  }
}

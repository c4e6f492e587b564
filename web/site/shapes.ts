import type { Answers } from './api.ts'

// The parts of the API's answers that the page has names for.
export type Summary = Answers['GET /api/check-mail']['messages'][number]
export type Message = Answers['GET /api/read-mail']['message']
export type Attachment = Message['attachments'][number]
export type Domains = Answers['GET /api/domains']
export type Plan = Answers['GET /api/plans']['plans'][number]
export type Order = Answers['GET /api/orders/{id}']
export type Usage = Answers['GET /usage']

import type { Route } from './route.ts'
import { checkMailRoute } from './routes/check-mail.ts'
import { createSessionRoute } from './routes/create-session.ts'
import { deleteMailRoute } from './routes/delete-mail.ts'
import { deleteSessionRoute } from './routes/delete-session.ts'
import { domainsRoute } from './routes/domains.ts'
import { extendSessionRoute } from './routes/extend-session.ts'
import { readMailRoute } from './routes/read-mail.ts'

/** Every endpoint, in the order in which the documents tell them. */
export const routes: readonly Route[] = [
  domainsRoute,
  createSessionRoute,
  checkMailRoute,
  readMailRoute,
  deleteMailRoute,
  extendSessionRoute,
  deleteSessionRoute,
]

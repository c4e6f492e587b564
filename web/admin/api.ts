// Generated from the routes by src/http/docs/generated.test.ts. To update it, run `npx vitest run src/http/docs --update`.

/** The successful response of each route. */
export interface ApiResponses {
  'POST /admin/api/sign-in': {
    status: 'success'
    expires_at: string | null
    expires_at_iso: string | null
  }
  'GET /admin/api/sign-in': { status: 'success'; message: string }
  'POST /admin/api/sign-out': { status: 'success'; message: string }
  'GET /admin/api/overview': {
    status: 'success'
    fault: string | null
    warnings: string[]
    figures: {
      sessions: number
      stored_bytes: number
      pool: { messages: number; bytes: number }
      operator_mail: { messages: number; bytes: number }
      domains: { active: number; all: number }
      gmail_accounts: { all: number; failing: number }
      webhooks: { all: number; failing: number }
      checks: { all: number; failing: number; warnings: number }
    } | null
  }
  'GET /admin/api/series': {
    status: 'success'
    kind: 'count' | 'gauge' | 'quantiles'
    unit: 'count' | 'bytes' | 'seconds'
    start_iso: string
    step_seconds: number
    lines: { label: string; values: (number | null)[] }[]
  }
  'GET /admin/api/domains': {
    status: 'success'
    domains: {
      id: number
      name: string
      active: boolean
      removed: boolean
      sessions: boolean
      reader: boolean
      ttl: string | null
    }[]
  }
  'POST /admin/api/domains': {
    status: 'success'
    domain: {
      id: number
      name: string
      active: boolean
      removed: boolean
      sessions: boolean
      reader: boolean
      ttl: string | null
    }
  }
  'POST /admin/api/domains/change': {
    status: 'success'
    domain: {
      id: number
      name: string
      active: boolean
      removed: boolean
      sessions: boolean
      reader: boolean
      ttl: string | null
    }
  }
  'GET /admin/api/sessions': {
    status: 'success'
    sessions: {
      email: string
      created_at: string | null
      created_at_iso: string | null
      expires_at: string | null
      expires_at_iso: string | null
      messages: number
      bytes: number
      key: boolean
    }[]
    next: string | null
  }
  'POST /admin/api/sessions/end': {
    status: 'success'
    session: {
      email: string
      created_at: string | null
      created_at_iso: string | null
      expires_at: string | null
      expires_at_iso: string | null
      messages: number
      bytes: number
      key: boolean
    }
  }
  'GET /admin/api/mail': {
    status: 'success'
    messages: {
      id: number
      to: string
      sender_name: string
      sender_email: string
      subject: string
      size: number
      received_at: string | null
      received_at_iso: string | null
    }[]
    next: string | null
  }
  'GET /admin/api/mail/{id}': {
    status: 'success'
    message: {
      id: number
      to: string
      sender_name: string
      sender_email: string
      subject: string
      size: number
      received_at: string | null
      received_at_iso: string | null
      text: string
      truncated: boolean
      attachments: { filename: string; size: number }[]
    }
  }
  'POST /admin/api/mail/delete': { status: 'success'; deleted: number }
  'GET /admin/api/blocks': {
    status: 'success'
    blocks: {
      entry: string
      kind: 'domain' | 'address' | 'network'
      note: string
      number: number
      created_at: string | null
      created_at_iso: string | null
      expires_at: string | null
      expires_at_iso: string | null
    }[]
    total: number
    next: string | null
  }
  'POST /admin/api/blocks': {
    status: 'success'
    entry: string
    kind: 'domain' | 'address' | 'network'
    is_new: boolean
  }
  'POST /admin/api/blocks/remove': { status: 'success'; message: string }
  'GET /admin/api/keys': {
    status: 'success'
    keys: {
      id: string
      prefix: string
      plan: string
      label: string
      state: 'active' | 'stopped' | 'revoked'
      requests: number
      used: number
      remaining: number
      per_day: number | null
      used_today: number
      remaining_today: number | null
      created_at: string | null
      created_at_iso: string | null
      expires_at: string | null
      expires_at_iso: string | null
    }[]
    next: string | null
  }
  'POST /admin/api/keys/revoke': { status: 'success'; message: string }
  'GET /admin/api/orders': {
    status: 'success'
    orders: {
      id: string
      provider: string
      mode: string
      plan: string
      price_cents: number
      currency: string
      state: string
      email: string | null
      payments: number
      partly_returned: boolean
      key_id: string | null
      key_prefix: string | null
      checkout: string | null
      subscription: string | null
      created_at: string | null
      created_at_iso: string | null
      paid_until: string | null
      paid_until_iso: string | null
      claimed_at: string | null
      claimed_at_iso: string | null
    }[]
    next: string | null
  }
  'GET /admin/api/webhooks': {
    status: 'success'
    webhooks: {
      id: string
      key_id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string | null
      created_at_iso: string | null
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      gap_since: string | null
      gap_since_iso: string | null
    }[]
    next: string | null
  }
  'GET /admin/api/webhooks/{id}': {
    status: 'success'
    webhook: {
      id: string
      key_id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string | null
      created_at_iso: string | null
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      gap_since: string | null
      gap_since_iso: string | null
    }
    deliveries: {
      message_id: number
      attempt: number
      status: number | null
      error: string | null
      ms: number
      attempted_at: string | null
      attempted_at_iso: string | null
    }[]
  }
  'POST /admin/api/webhooks/{id}/test': {
    status: 'success'
    delivery: { status: number | null; error: string | null; ms: number }
  }
  'POST /admin/api/webhooks/{id}/enable': {
    status: 'success'
    webhook: {
      id: string
      key_id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string | null
      created_at_iso: string | null
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      gap_since: string | null
      gap_since_iso: string | null
    }
  }
  'POST /admin/api/webhooks/{id}/delete': { status: 'success'; message: string }
  'GET /admin/api/accounts': {
    status: 'success'
    accounts: {
      id: number | null
      email: string
      offered: boolean
      hindrance: string | null
      health: string | null
      reason: string | null
      aliases: number
    }[]
  }
  'POST /admin/api/accounts/change': { status: 'success'; message: string }
  'GET /admin/api/checks': {
    status: 'success'
    finished_at: string | null
    finished_at_iso: string | null
    next_at: string | null
    next_at_iso: string | null
    running: { done: number; all: number } | null
    checks: {
      name: string
      subject: string | null
      status: 'ok' | 'warning' | 'failure' | 'skipped'
      seen: string
      fix: string
      since: string | null
      since_iso: string | null
    }[]
  }
  'POST /admin/api/checks/run': {
    status: 'success'
    finished_at: string | null
    finished_at_iso: string | null
    next_at: string | null
    next_at_iso: string | null
    running: { done: number; all: number } | null
    checks: {
      name: string
      subject: string | null
      status: 'ok' | 'warning' | 'failure' | 'skipped'
      seen: string
      fix: string
      since: string | null
      since_iso: string | null
    }[]
  }
}

// Generated from the routes by src/http/docs/generated.test.ts. To update it, run `npx vitest run src/http/docs --update`.

/** The successful response of each route. */
export interface ApiResponses {
  'GET /api/domains': {
    status: 'success'
    domains: { id: number; domain: string }[]
    gmail_accounts: { id: number; email: string }[]
  }
  'POST /api/create-session': {
    status: 'success'
    email: string
    token: string
    expires_at: string
    expires_at_iso: string
  }
  'GET /api/check-mail': {
    status: 'success'
    email: string
    expires_at: string
    expires_at_iso: string
    rules?: { only_from: string[]; max_messages: number | null }
    full?: true
    messages: {
      id: number
      sender_name: string
      sender_email: string
      subject: string
      received_at: string
      received_at_iso: string
      code: string | null
      preview: string | null
      attachments: number | null
    }[]
    timed_out?: true
    incomplete?: true
  }
  'GET /api/read-mail': {
    status: 'success'
    message: {
      id: number
      sender_name: string
      sender_email: string
      subject: string
      received_at: string
      received_at_iso: string
      code: string | null
      body_text: string | null
      body_html: string | null
      truncated?: true
      to: { name: string; address: string }[]
      cc: { name: string; address: string }[]
      reply_to: { name: string; address: string }[]
      message_id: string | null
      date: string | null
      size: number
      attachments: {
        index: number
        filename: string
        content_type: string
        size: number
        content_id: string | null
        inline: boolean
        url: string
      }[]
      headers?: { name: string; value: string }[]
      codes: {
        value: string
        kind: 'digits' | 'letters_and_digits' | 'words'
        confidence: number
      }[]
      links: {
        url: string
        text: string
        host: string
        kind: 'verify' | 'sign_in' | 'reset' | 'unsubscribe' | 'other'
      }[]
      auth: {
        spf: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'
        dkim: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'
        dmarc: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'
      } | null
      raw_url: string
    }
  }
  'POST /api/delete-mail': { status: 'success'; message: string; deleted: number }
  'POST /api/extend-session': {
    status: 'success'
    email: string
    token: string
    expires_at: string
    expires_at_iso: string
  }
  'POST /api/delete-session': { status: 'success'; message: string }
  'POST /api/send-test': { status: 'success'; message: string }
  'GET /emails': {
    address?: string
    emails: {
      id: number
      from: string
      to: string
      subject: string
      date: string
      date_iso: string
      body: string
      truncated?: true
    }[]
  }[]
  'GET /usage': {
    status: 'success'
    plan: string
    label: string
    prefix: string
    state: string
    requests: number
    used: number
    remaining: number
    per_day: number | null
    used_today: number
    remaining_today: number | null
    resets_at: string
    resets_at_iso: string
    expires_at: string | null
    expires_at_iso: string | null
    days: { date: string; requests: number }[]
  }
  'POST /api/roll-key': {
    status: 'success'
    key: string
    key_id: string
    prefix: string
    former_until: string
    former_until_iso: string
  }
  'POST /webhooks': {
    status: 'success'
    webhook: {
      id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string
      created_at_iso: string
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      backlog: number | null
      gap_since: string | null
      gap_since_iso: string | null
      old_secret_until: string | null
      old_secret_until_iso: string | null
      secret: string
    }
  }
  'GET /webhooks': {
    status: 'success'
    webhooks: {
      id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string
      created_at_iso: string
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      backlog: number | null
      gap_since: string | null
      gap_since_iso: string | null
      old_secret_until: string | null
      old_secret_until_iso: string | null
    }[]
  }
  'GET /webhooks/{id}': {
    status: 'success'
    webhook: {
      id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string
      created_at_iso: string
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      backlog: number | null
      gap_since: string | null
      gap_since_iso: string | null
      old_secret_until: string | null
      old_secret_until_iso: string | null
    }
  }
  'GET /webhooks/{id}/deliveries': {
    status: 'success'
    deliveries: {
      message_id: number
      attempt: number
      status: number | null
      error: string | null
      ms: number
      attempted_at: string
      attempted_at_iso: string
    }[]
  }
  'POST /webhooks/{id}/test': {
    status: 'success'
    delivery: { status: number | null; error: string | null; ms: number }
  }
  'POST /webhooks/{id}/replay': {
    status: 'success'
    webhook: {
      id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string
      created_at_iso: string
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      backlog: number | null
      gap_since: string | null
      gap_since_iso: string | null
      old_secret_until: string | null
      old_secret_until_iso: string | null
    }
  }
  'POST /webhooks/{id}/roll-secret': {
    status: 'success'
    secret: string
    old_secret_until: string
    old_secret_until_iso: string
  }
  'POST /webhooks/{id}/enable': {
    status: 'success'
    webhook: {
      id: string
      url: string
      state: 'active' | 'failing' | 'paused' | 'disabled'
      reason: string | null
      to: string | null
      from: string | null
      subject: string | null
      created_at: string
      created_at_iso: string
      last_delivery_at: string | null
      last_delivery_at_iso: string | null
      last_message_id: number | null
      next_attempt_at: string | null
      next_attempt_at_iso: string | null
      backlog: number | null
      gap_since: string | null
      gap_since_iso: string | null
      old_secret_until: string | null
      old_secret_until_iso: string | null
    }
  }
  'POST /webhooks/{id}/delete': { status: 'success'; message: string }
  'GET /api/plans': {
    status: 'success'
    plans: {
      id: string
      name: string
      price: { cents: number; currency: string; text: string }
      requests: number
      per_day: number | null
      months: number | null
      renews: boolean
      validity: string
      support: string
    }[]
    payments: { provider: string; buyable: boolean }
  }
  'POST /api/checkout': {
    status: 'success'
    order_id: string
    plan: string
    plan_name: string
    price: { cents: number; currency: string; text: string; term: string }
    url: string
    claim_secret: string
  }
  'GET /api/orders/{id}': {
    status: 'success'
    order_id: string
    plan: string
    plan_name: string
    price: { cents: number; currency: string; text: string; term: string }
    state: string
    url: string | null
    created_at: string
    created_at_iso: string
    paid_until: string | null
    paid_until_iso: string | null
    claimable: boolean
    claimed_at: string | null
    claimed_at_iso: string | null
    key_prefix: string | null
    next: string
  }
  'POST /api/orders/{id}/claim': {
    status: 'success'
    order_id: string
    plan: string
    plan_name: string
    price: { cents: number; currency: string; text: string; term: string }
    key: string
    key_id: string
    prefix: string
    requests: number
    per_day: number | null
    expires_at: string | null
    expires_at_iso: string | null
  }
  'POST /api/stripe/webhook': { status: 'success' }
  'GET /livez': { status: 'success' }
  'GET /readyz': {
    status: 'success'
    client?: string | null
    warnings?: string[]
    gmail_accounts?: {
      id: number
      email: string
      health: string
      reason: string
      aliases: number
    }[]
  }
}

// Generated from the routes by src/http/docs/generated.test.ts. To update it, run `npx vitest run src/http/docs --update`.

/** The successful response of each route. */
export interface ApiResponses {
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
  'POST /api/extend-session': {
    status: 'success'
    email: string
    token: string
    expires_at: string
    expires_at_iso: string
  }
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
}

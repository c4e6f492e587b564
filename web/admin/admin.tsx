import { effect, signal, useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError } from '../site/api-client.ts'
import { Button, ErrorMessage, Field, Form, VERBATIM } from '../site/controls.tsx'
import { language, loadLanguage } from '../site/i18n.ts'
import { Layout, mountPage } from '../site/layout.tsx'
import { accountsView } from './accounts.tsx'
import { blocksView } from './blocks.tsx'
import { checksView } from './checks.tsx'
import { domainsView } from './domains.tsx'
import { mailView, OpenMail } from './mail.tsx'
import { mailLogView } from './mail-log.tsx'
import { Overview } from './overview.tsx'
import { ownDomainsView } from './own-domains.tsx'
import { sessionsView } from './sessions.tsx'
import { keysView, ordersView } from './shop.tsx'
import {
  checkSignIn,
  hasExpired,
  isSignedIn,
  refresh,
  shownError,
  signIn,
  signOut,
  useAction,
} from './state.ts'
import { a, followLanguage } from './texts.ts'
import { webhooksView } from './webhooks.tsx'
import './admin.css'

const VIEWS = {
  overview: () => <Overview />,
  domains: domainsView,
  'own-domains': ownDomainsView,
  sessions: sessionsView,
  mail: (id) => (id === undefined ? mailView() : <OpenMail id={id} />),
  'mail-log': mailLogView,
  blocks: blocksView,
  keys: keysView,
  orders: ordersView,
  accounts: accountsView,
  webhooks: webhooksView,
  checks: checksView,
} as const satisfies Record<string, (id: number | undefined) => ComponentChild>

type ViewName = keyof typeof VIEWS
const NAMES = Object.keys(VIEWS) as ViewName[]

/** A view, and the message that is open in it: `#mail/12`. */
function placeOf(hash: string) {
  const [, name, id] = /^#([\w-]+)(?:\/(\d+))?$/.exec(hash) ?? []
  const view = NAMES.find((one) => one === name) ?? 'overview'
  return { view, id: id === undefined ? undefined : Number(id) }
}

const place = signal(placeOf(location.hash))
// Also while the form is shown.
addEventListener('hashchange', () => {
  place.value = placeOf(location.hash)
})

function AdminPage() {
  return (
    <Layout>
      <div class="admin-top row">
        <h1>{a('admin_title')}</h1>
        {isSignedIn.value && <Tools />}
      </div>
      {isSignedIn.value ? <Views /> : <SignInForm />}
    </Layout>
  )
}

function Tools() {
  const { isBusy, error, run } = useAction()
  return (
    <div class="row">
      <ErrorMessage error={error} />
      <Button
        class="quiet icon"
        icon="again"
        aria-label={a('admin_refresh')}
        title={a('admin_refresh')}
        onClick={refresh}
      />
      <Button class="plain" disabled={isBusy} onClick={() => void run(signOut)}>
        {a('admin_sign_out')}
      </Button>
    </div>
  )
}

function Views() {
  const heading = useRef<HTMLHeadingElement>(null)
  const tabs = useRef<HTMLElement>(null)
  const { view, id } = place.value
  useEffect(() => {
    const focus = () => heading.current?.focus()
    addEventListener('hashchange', focus)
    return () => removeEventListener('hashchange', focus)
  }, [])
  // On a phone the tabs are one row that scrolls.
  useEffect(() => {
    const current = tabs.current?.querySelector('[aria-current]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [view, language.value])
  return (
    <>
      <nav ref={tabs} class="admin-nav" aria-label={a('admin_views')}>
        {NAMES.map((name) => (
          <a key={name} href={`#${name}`} aria-current={name === view ? 'page' : undefined}>
            {a(`admin_view_${name}`)}
          </a>
        ))}
      </nav>
      <h2 ref={heading} tabIndex={-1}>
        {a(`admin_view_${view}`)}
      </h2>
      <div class="stack" key={`${view} ${id}`}>
        {VIEWS[view](id)}
      </div>
    </>
  )
}

/** Why there is no sign-in; a text, or what a request threw. */
const fault = signal<unknown>('')

function SignInForm() {
  const isBusy = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (hasExpired.value) field.current?.focus()
  }, [])

  async function submit(form: HTMLFormElement): Promise<void> {
    const token = String(new FormData(form).get('token')).trim()
    if (token === '') {
      fault.value = a('admin_token_missing')
      return
    }
    isBusy.value = true
    try {
      fault.value = (await signIn(token)) ? '' : a('admin_cookie_refused')
    } catch (error) {
      const isWrong = error instanceof ApiError && error.status === 401
      fault.value = isWrong ? a('admin_token_wrong') : shownError(error)
    } finally {
      isBusy.value = false
    }
  }

  return (
    <Form class="panel" onSubmit={(form) => void submit(form)}>
      {hasExpired.value && <p class="notice">{a('admin_expired')}</p>}
      <Field id="token" label={a('admin_token')} hint={a('admin_token_hint')}>
        <input
          {...VERBATIM}
          ref={field}
          id="token"
          name="token"
          type="password"
          class="admin-token"
          autocomplete="current-password"
          aria-invalid={fault.value !== ''}
          aria-describedby="token-fault token-hint"
        />
        <div id="token-fault">
          <ErrorMessage error={fault.value} />
        </div>
      </Field>
      <button type="submit" disabled={isBusy.value}>
        {a('admin_sign_in')}
      </button>
    </Form>
  )
}

async function start(): Promise<void> {
  try {
    await checkSignIn()
  } catch (error) {
    fault.value = shownError(error)
  }
}

await Promise.all([loadLanguage(), start()])
await followLanguage()
effect(() => {
  const view = isSignedIn.value ? `${a(`admin_view_${place.value.view}`)} – ` : ''
  document.title = `${view}${a('admin_title')} – Mayfly`
})
await mountPage(() => <AdminPage />)

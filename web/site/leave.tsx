import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { CopyButton } from './copy-button.tsx'
import { DOUBTS } from './doubts.ts'
import { Frame } from './frame.tsx'
import { openPage } from './open-page.tsx'
import { entitle } from './title.ts'
import { type Where, where } from './where.ts'
import { say } from './words.ts'
import './leave.css'

await openPage(() => <Leave />)
entitle('leave_title')

/** Where a link of a mail leads, before it is opened. What stands behind the # never reaches the server. */
function Leave() {
  const fragment = useSignal(location.hash)
  useEffect(() => {
    const read = () => {
      fragment.value = location.hash
    }
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  const link = decoded(fragment.value.slice(1))
  return (
    <Frame>
      <div class="leave">
        <Told leads={where(link)} />
      </div>
    </Frame>
  )
}

function Told({ leads }: { leads: Where }) {
  switch (leads.kind) {
    case 'web':
      return <Web leads={leads} />
    case 'mail':
      return (
        <>
          <h1>{say('leave_mail')}</h1>
          <p class="leave-host">
            <bdi dir="ltr">{leads.address}</bdi>
          </p>
          <p>{say('leave_mail_why')}</p>
          <div class="row">
            <CopyButton text={leads.address} class="" />
            <Back />
          </div>
        </>
      )
    case 'other':
      return (
        <>
          <h1>{say('leave_other')}</h1>
          <p>{say('leave_other_why', { scheme: leads.scheme.slice(0, MAX_SCHEME) })}</p>
          <div class="row">
            <Back />
          </div>
          <Whole href={leads.href} />
        </>
      )
    case 'broken':
      return (
        <>
          <h1>{say('leave_broken')}</h1>
          <p>{say('leave_broken_why')}</p>
          <div class="row">
            <Back />
          </div>
        </>
      )
  }
}

function Web({ leads: { host, href, doubts } }: { leads: Where & { kind: 'web' } }) {
  return (
    <>
      <h1 class="leave-lead">{say('leave_lead')}</h1>
      <p class="leave-host">
        <bdi dir="ltr">{host}</bdi>
      </p>
      {doubts.map((doubt) => (
        <p key={doubt} class={doubt === 'open' ? 'notice' : 'notice bad'}>
          {say(DOUBTS[doubt])}
        </p>
      ))}
      <div class="row">
        <a class="button" href={href} rel="noopener noreferrer" referrerpolicy="no-referrer">
          {say('leave_open')}
        </a>
        <Back />
      </div>
      <p class="soft">{say('leave_private')}</p>
      <Whole href={href} />
    </>
  )
}

/** As the browser spells it: in the mail's own spelling marks could turn it around. */
function Whole({ href }: { href: string }) {
  const cut = href.length > MAX_SHOWN
  return (
    <>
      <h2 class="leave-name">{say('leave_whole')}</h2>
      <p class="leave-whole" dir="ltr">
        {href.slice(0, MAX_SHOWN)}
        {cut && '…'}
      </p>
    </>
  )
}

const MAX_SHOWN = 2_000
const MAX_SCHEME = 40

/** To where the reader came from: mostly this is a tab of its own, and goes. */
function Back() {
  return (
    <a
      class="button plain"
      href="/"
      onClick={(event) => {
        if (history.length > 1) return
        event.preventDefault()
        close()
        // A browser that keeps the tab shows the inbox in it.
        location.href = '/'
      }}
    >
      {say('leave_back')}
    </a>
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

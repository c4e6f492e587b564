import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from './copy-button.tsx'
import { t } from './i18n.ts'
import { Layout, mountPage, setTitle } from './layout.tsx'
import { type LinkTarget, parseLink, percentDecoded } from './link-target.ts'
import './leave.css'

const MAX_SHOWN = 2_000
const MAX_SCHEME = 40

await mountPage(() => <Leave />)
setTitle('leave_title')

/** Shows where a link of a mail leads before it is opened. The link is in the fragment, which the server never sees. */
function Leave() {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const read = () => setFragment(location.hash)
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  const link = percentDecoded(fragment.slice(1))
  return (
    <Layout>
      <div class="leave">
        <Destination target={parseLink(link)} />
      </div>
    </Layout>
  )
}

function Destination({ target }: { target: LinkTarget }) {
  switch (target.kind) {
    case 'web':
      return <WebLink target={target} />
    case 'mail':
      return <MailLink address={target.address} />
    default: {
      const scheme = target.kind === 'other' ? target.scheme.slice(0, MAX_SCHEME) : ''
      return (
        <>
          <h1>{t(`leave_${target.kind}`)}</h1>
          <p>{t(`leave_${target.kind}_why`, { scheme })}</p>
          <div class="row">
            <BackButton />
          </div>
          {target.kind === 'other' && <FullUrl href={target.href} />}
        </>
      )
    }
  }
}

function MailLink({ address }: { address: string }) {
  const shown = useRef<HTMLElement>(null)
  return (
    <>
      <h1>{t('leave_mail')}</h1>
      <p class="leave-host">
        <bdi ref={shown} dir="ltr">
          {address}
        </bdi>
      </p>
      <p>{t('leave_mail_why')}</p>
      <div class="row">
        <CopyButton text={address} textRef={shown} class="" />
        <BackButton />
      </div>
    </>
  )
}

function WebLink({ target: { host, href, warnings } }: { target: LinkTarget & { kind: 'web' } }) {
  return (
    <>
      <h1 class="leave-lead">{t('leave_goes_to')}</h1>
      <p class="leave-host">
        <bdi dir="ltr">{host}</bdi>
      </p>
      {warnings.map((warning) => (
        <p key={warning} class={warning === 'unencrypted' ? 'notice' : 'notice bad'}>
          {t(`leave_${warning}`)}
        </p>
      ))}
      <div class="row">
        <a class="button" href={href} rel="noopener noreferrer" referrerpolicy="no-referrer">
          {t('site_open')}
        </a>
        <BackButton />
      </div>
      <p class="soft">{t('leave_private')}</p>
      <FullUrl href={href} />
    </>
  )
}

/** As the browser serialises it: bidi marks of the mail's own spelling would reorder it. */
function FullUrl({ href }: { href: string }) {
  const cut = href.length > MAX_SHOWN
  return (
    <>
      <h2 class="leave-name">{t('leave_full_link')}</h2>
      <p class="leave-whole" dir="ltr">
        {href.slice(0, MAX_SHOWN)}
        {cut && '…'}
      </p>
    </>
  )
}

/** Usually this is a tab of its own, which is closed. */
function BackButton() {
  return (
    <a
      class="button plain"
      href="/"
      onClick={(event) => {
        if (history.length > 1) return
        event.preventDefault()
        close()
        // If the browser does not close the tab.
        location.href = '/'
      }}
    >
      {t('leave_back')}
    </a>
  )
}

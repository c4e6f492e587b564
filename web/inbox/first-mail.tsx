import { useState } from 'preact/hooks'
import { isExampleAddress } from '../../src/shared/site.ts'
import type { Mailbox } from '../address/mailbox.ts'
import { useAction } from '../site/action.tsx'
import { requestJson } from '../site/api-client.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import './first-mail.css'

/** How an address without mail gets some. Where mail from the Internet cannot arrive, a test mail is the only one. */
export function FirstMail({ mailbox }: { mailbox: Mailbox | undefined }) {
  // Before there is an address, another of the site, so that nothing moves when it arrives.
  const email = mailbox?.email ?? siteConfig.abuse
  const isExample = isExampleAddress(email)
  return (
    <div class="first-mail">
      {isExample ? (
        <p class="notice">{t('inbox_example')}</p>
      ) : (
        <>
          <p>{t('inbox_empty_hint')}</p>
          <p class="soft">{t('inbox_empty_codes')}</p>
        </>
      )}
      {/* The server sends test mail to its own domains only. */}
      {!/@(?:gmail|googlemail)\.com$/.test(email) && (
        <TestMail key={mailbox?.token} token={mailbox?.token} isMain={isExample} />
      )}
    </div>
  )
}

interface TestMailProps {
  token: string | undefined
  /** What a visitor should do next. */
  isMain: boolean
}

// The server sends one a minute.
const RESEND_MS = 60_000

function TestMail({ token, isMain }: TestMailProps) {
  const { isBusy, error, run } = useAction()
  const [isSent, setSent] = useState(false)
  const send = async () => {
    await requestJson('/api/send-test', { method: 'POST', ...(token && { token }) })
    setSent(true)
    setTimeout(() => setSent(false), RESEND_MS)
    return ''
  }
  return (
    <>
      <Button
        icon="letter"
        class={isMain ? '' : 'plain'}
        disabled={token === undefined || isBusy || isSent}
        onClick={() => void run(send)}
      >
        {t('inbox_test_mail')}
      </Button>
      <p class="soft" role="status">
        {isSent && t('inbox_test_sent')}
      </p>
      <ErrorMessage error={error} />
    </>
  )
}

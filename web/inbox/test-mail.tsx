import { useSignal } from '@preact/signals'
import { isExampleAddress } from '../../src/shared/site.ts'
import type { Mailbox } from '../address/mailbox.ts'
import { requestJson } from '../site/api-client.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import './test-mail.css'

/** A way to see a mail arrive, for an address that has none. Needed where mail from the Internet cannot arrive. */
export function TestMail({ mailbox }: { mailbox: Mailbox | undefined }) {
  const phase = useSignal<'ready' | 'sending' | 'sent'>('ready')
  const error = useSignal<unknown>('')
  // Before there is an address, another of the site, so that nothing moves when it arrives.
  const email = mailbox?.email ?? siteConfig.abuse
  // The server delivers test mail to its own domains only.
  if (/@(?:gmail|googlemail)\.com$/.test(email)) return null
  const isExample = isExampleAddress(email)
  const send = async (token: string) => {
    phase.value = 'sending'
    error.value = ''
    try {
      await requestJson('/api/send-test', { method: 'POST', token })
      phase.value = 'sent'
    } catch (failure) {
      error.value = failure
      phase.value = 'ready'
    }
  }
  return (
    <div class="test-mail">
      {isExample && <p class="notice">{t('inbox_example')}</p>}
      <Button
        icon="letter"
        class={isExample ? '' : 'plain'}
        disabled={!mailbox || phase.value !== 'ready'}
        onClick={() => void (mailbox && send(mailbox.token))}
      >
        {t('inbox_test_mail')}
      </Button>
      <p class="soft" role="status">
        {phase.value === 'sent' && t('inbox_test_sent')}
      </p>
      <ErrorMessage error={error.value} />
    </div>
  )
}

import { computed, effect } from '@preact/signals'
import { AddressBar } from '../address/address-bar.tsx'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { canKeep } from '../site/kept-mail.ts'
import { Layout, mountPage } from '../site/layout.tsx'
import { focusList } from './actions.ts'
import { startDeletions } from './deletions.ts'
import { isTruncated, messages, transport, unreadByAddress } from './messages.ts'
import { startNewest } from './newest.ts'
import { senderName, startNotifications, startUnreadTitle } from './notifications.ts'
import { isAlone, isReading, startHistory } from './open-message.ts'
import { EmptyState, Panes } from './panes.tsx'
import { isAllShown } from './rows.ts'
import { startSearch } from './search.ts'
import { Privacy, Settings, ShortcutHelp } from './settings.tsx'
import { startShortcuts } from './shortcuts.ts'
import { startSync } from './sync/sync.ts'
import { Toasts } from './toast.tsx'
import './inbox.css'

// Mail is requested while the texts are still loading.
startSync()
startDeletions()
startHistory()
startNewest()
startNotifications()
startSearch()
startShortcuts()
void startOfflineLater()

// The limit of the API.
const MAX_LABEL = 60

const firstSender = computed(() => {
  const first = isTruncated.value ? undefined : messages.value.at(-1)
  return first && senderName(first).slice(0, MAX_LABEL)
})

await mountPage(() => <Inbox />)
startUnreadTitle()

/** Not part of the first load. */
async function startOfflineLater(): Promise<void> {
  if (!canKeep) return
  await new Promise<void>((resolve) => {
    effect(() => {
      if (transport.value.kind !== 'starting') resolve()
    })
  })
  const offline = await import('./offline.ts').catch(() => undefined)
  offline?.startOffline()
}

/** The page at /. */
function Inbox() {
  return (
    <>
      {/* Not a link to a fragment: that would look like a mailbox transfer. */}
      <Button class="skip plain" onClick={focusList}>
        {t('inbox_skip')}
      </Button>
      <Layout section="inbox">
        <div class={`inbox${isAlone.value ? ' alone' : ''}`}>
          <h1 class="unseen">{t('site_inbox')}</h1>
          <div class="inbox-screen">
            <AddressBar
              isCompact={isReading.value}
              unread={unreadByAddress.value}
              firstSender={firstSender.value}
            />
            <section id="messages" class="messages" aria-labelledby="messages-title" tabIndex={-1}>
              {messages.value.length > 0 || isAllShown.value ? <Panes /> : <EmptyState />}
            </section>
          </div>
          <Settings />
          <Privacy />
        </div>
        <Toasts />
        <ShortcutHelp />
      </Layout>
    </>
  )
}

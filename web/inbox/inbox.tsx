import { AddressBar } from '../address/address-bar.tsx'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Layout, mountPage } from '../site/layout.tsx'
import { focusList } from './actions.ts'
import { startDeletions } from './deletions.ts'
import { connectionStatus, messages, unreadCount } from './messages.ts'
import { startNotifications, startUnreadTitle } from './notifications.ts'
import { openedMessage, startHistory } from './open-message.ts'
import { EmptyState, Panes } from './panes.tsx'
import { Privacy, Settings, ShortcutHelp } from './settings.tsx'
import { startShortcuts } from './shortcuts.ts'
import { RefreshButton, StatusLine } from './status.tsx'
import { startSync } from './sync/sync.ts'
import { Toasts } from './toast.tsx'
import './inbox.css'

// Mail is requested while the texts are still loading.
startSync()
startDeletions()
startHistory()
startUnreadTitle()
startNotifications()
startShortcuts()

await mountPage(() => <Inbox />)

/** The page at /. */
function Inbox() {
  return (
    <>
      {/* Not a link to a fragment: that would look like a mailbox transfer. */}
      <Button class="skip plain" onClick={focusList}>
        {t('inbox_skip')}
      </Button>
      <Layout section="inbox">
        <div class={`inbox${openedMessage.value ? ' reading' : ''}`}>
          <h1 class="unseen">{t('site_inbox')}</h1>
          <AddressBar />
          <section id="messages" class="messages" aria-labelledby="messages-title" tabIndex={-1}>
            <header class="messages-top row">
              <h2 id="messages-title">{t('inbox_title')}</h2>
              {connectionStatus.value.kind !== 'ended' && <StatusLine />}
              {unreadCount.value > 0 && (
                <span class="badge good">{t('inbox_unread', { count: unreadCount.value })}</span>
              )}
              {connectionStatus.value.kind !== 'ended' && <RefreshButton />}
            </header>
            {messages.value.length > 0 ? <Panes /> : <EmptyState />}
          </section>
          <Settings />
          <Privacy />
        </div>
        <Toasts />
        <ShortcutHelp />
      </Layout>
    </>
  )
}

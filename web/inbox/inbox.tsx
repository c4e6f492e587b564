import { AddressBar } from '../address/address-bar.tsx'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Layout, mountPage } from '../site/layout.tsx'
import { focusList } from './actions.ts'
import { startDeletions } from './deletions.ts'
import { messages } from './messages.ts'
import { startNewest } from './newest.ts'
import { startNotifications, startUnreadTitle } from './notifications.ts'
import { isAlone, isReading, startHistory } from './open-message.ts'
import { otherUnread, startOtherUnread } from './other-unread.ts'
import { EmptyState, Panes } from './panes.tsx'
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
startOtherUnread()
startSearch()
startShortcuts()

await mountPage(() => <Inbox />)
startUnreadTitle()

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
            <AddressBar isCompact={isReading.value} unread={otherUnread.value} />
            <section id="messages" class="messages" aria-labelledby="messages-title" tabIndex={-1}>
              {messages.value.length > 0 ? <Panes /> : <EmptyState />}
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

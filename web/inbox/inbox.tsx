import { AddressBar } from '../address/address-bar.tsx'
import { Privacy } from '../address/privacy.tsx'
import { Frame } from '../site/frame.tsx'
import { openPage } from '../site/open-page.tsx'
import { say } from '../site/words.ts'
import { keepAlerts } from './alerts.ts'
import { keepDecisions } from './deletions.ts'
import { Empty } from './empty.tsx'
import { focusList } from './focus.ts'
import { Help } from './help.tsx'
import { keepFollowing } from './keep-following.ts'
import { listenToKeys } from './keys.ts'
import { hearing, messages } from './mail.ts'
import { keepOpened, opened } from './opened.ts'
import { Panes } from './panes.tsx'
import { Settings } from './settings.tsx'
import { Refresh, Status } from './status.tsx'
import { keepTitle } from './title.ts'
import { Toast } from './toast.tsx'
import { unreadCount } from './unread.ts'
import './inbox.css'

// Mail is asked for while the words are still on their way.
keepFollowing()
keepDecisions()
keepOpened()
keepTitle()
keepAlerts()
listenToKeys()

await openPage(() => <Inbox />)

/** The page at /: an address, and its mail as it comes. */
function Inbox() {
  return (
    <>
      {/* No link to a fragment: that part of the address is for handing a mailbox over. */}
      <button type="button" class="skip plain" onClick={focusList}>
        {say('inbox_skip')}
      </button>
      <Frame at="inbox">
        <div class={`inbox${opened.value ? ' reading' : ''}`}>
          <h1 class="unseen">{say('site_inbox')}</h1>
          <AddressBar />
          <section id="messages" class="messages" aria-labelledby="messages-title" tabIndex={-1}>
            <header class="messages-top">
              <h2 id="messages-title">{say('inbox_title')}</h2>
              {hearing.value.kind !== 'ended' && <Status />}
              {unreadCount.value > 0 && (
                <span class="badge good">{say('inbox_unread', { count: unreadCount.value })}</span>
              )}
              {hearing.value.kind !== 'ended' && <Refresh />}
            </header>
            {messages.value.length > 0 ? <Panes /> : <Empty />}
          </section>
          <Settings />
          <Privacy />
        </div>
        <Toast />
        <Help />
      </Frame>
    </>
  )
}

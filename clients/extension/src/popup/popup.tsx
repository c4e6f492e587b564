import { type ComponentChildren, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { browser } from '../browser.ts'
import type { PopupState } from '../messages.ts'
import { sendRequest } from '../send-request.ts'
import { setLanguage, useStatus } from '../status.tsx'
import { t } from '../texts.ts'
import { patternOf } from '../urls.ts'
import { AddressBlock } from './address.tsx'
import { NewAddress } from './new-address.tsx'

/** Where the popup was opened. The parameter opens it for another tab, in a tab of its own. */
async function currentTab() {
  const named = new URLSearchParams(location.search).get('tab')
  if (named) return browser.tabs.get(Number(named))
  const [tab] = await browser.tabs.query({ active: true, currentWindow: true })
  return tab
}

function Popup() {
  const [tab, setTab] = useState<{ id?: number; url?: string }>()
  const [state, setState] = useState<PopupState>()
  const { line, attempt, report } = useStatus()
  useEffect(() => {
    const load = async () => {
      const current = (await currentTab()) ?? {}
      setTab(current)
      const show = () => sendRequest('state', { tabId: current.id }).then(setState)
      browser.storage.onChanged.addListener(() => void show())
      await show()
      void sendRequest('refresh', { tabId: current.id }).catch(report)
      return undefined
    }
    void attempt(load)
  }, [])
  if (!state) return line
  const { site, servers, addresses } = state
  const here = addresses.filter((one) => site !== undefined && one.site === site)
  const others = addresses.filter((one) => !here.includes(one))
  const [first, ...former] = here
  const common = { tabId: tab?.id, attempt }
  const block = (one: (typeof addresses)[number]) => (
    <AddressBlock key={one.id} address={one} site={site} {...common} />
  )
  return (
    <>
      <section id="site" aria-labelledby="site-title">
        <h1 id="site-title">{site ?? 'Mayfly'}</h1>
        {first ? block(first) : site && <p>{t('none_here')}</p>}
        {servers.length === 0 ? (
          <Setup status={line} />
        ) : (
          <NewAddress key={site} servers={servers} isMain={!first} status={line} {...common} />
        )}
        {tab?.url && state.isAllowed !== undefined && (
          <Always key={String(state.isAllowed)} url={tab.url} isAllowed={state.isAllowed} />
        )}
      </section>
      {former.length + others.length > 0 && (
        <section id="all" aria-labelledby="all-title">
          <h2 id="all-title">{t('inbox_all')}</h2>
          <ul>
            {[...former, ...others].map((one) => (
              <li key={one.id}>{block(one)}</li>
            ))}
          </ul>
        </section>
      )}
      <footer>
        <button type="button" onClick={() => void browser.runtime.openOptionsPage()}>
          {t('inbox_settings')}
        </button>
      </footer>
    </>
  )
}

function Setup({ status }: { status: ComponentChildren }) {
  return (
    <>
      <p>{t('error_no_servers')}</p>
      <button
        id="setup"
        class="primary"
        type="button"
        onClick={() => void browser.runtime.openOptionsPage()}
      >
        {t('add_server')}
      </button>
      {status}
    </>
  )
}

/** The browser asks for the permission, and may close the popup; the background script hears of it. */
function Always({ url, isAllowed }: { url: string; isAllowed: boolean }) {
  const origins = [patternOf(url)]
  const change = (isOn: boolean) =>
    isOn ? browser.permissions.request({ origins }) : browser.permissions.remove({ origins })
  const [isOn, setIsOn] = useState(isAllowed)
  return (
    <label class="check">
      <input
        id="always"
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => {
          const wanted = currentTarget.checked
          void change(wanted).then((isDone) => setIsOn(isDone ? wanted : !wanted))
        }}
      />
      {t('always')}
    </label>
  )
}

setLanguage()
const app = document.getElementById('app')
if (app) render(<Popup />, app)

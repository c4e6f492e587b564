import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { sendRequest } from '../send-request.ts'
import type { Attempt } from '../status.tsx'
import { t } from '../texts.ts'

interface Props {
  servers: string[]
  /** Nothing else is more likely to be wanted. */
  isMain: boolean
  status: ComponentChildren
  tabId: number | undefined
  attempt: Attempt
}

/** A random address by one click, or one with a chosen name. What was typed stays until it was accepted. */
export function NewAddress({ servers, isMain, status, tabId, attempt }: Props) {
  const [server, setServer] = useState(servers[0] ?? '')
  const [prefix, setPrefix] = useState('')
  const [domain, setDomain] = useState('')
  const [domains, setDomains] = useState<string[]>([])
  const [isBusy, setIsBusy] = useState(false)
  const loadDomains = () =>
    // Without the list, a name can still be typed.
    sendRequest('domains', { server }).then(setDomains, () => setDomains([]))
  const create = async (event: Event) => {
    event.preventDefault()
    if (isBusy) return
    setIsBusy(true)
    const isDone = await attempt(async () => {
      const choice = { server, prefix: prefix.trim(), domain: domain.trim() }
      const { email, isFilled } = await sendRequest('create', { tabId, ...choice })
      return isFilled ? t('filled', email) : t('address_created', email)
    })
    setIsBusy(false)
    if (!isDone) return
    setPrefix('')
    setDomain('')
  }
  return (
    <form id="choose" onSubmit={(event) => void create(event)}>
      <details onToggle={({ currentTarget }) => currentTarget.open && void loadDomains()}>
        <summary>{t('address_choose')}</summary>
        <label>
          {t('address_form_name')}
          <input
            id="prefix"
            value={prefix}
            dir="ltr"
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setPrefix(currentTarget.value)}
          />
        </label>
        <label>
          {t('address_form_domain')}
          <input
            id="domain"
            list="domains"
            value={domain}
            dir="ltr"
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setDomain(currentTarget.value)}
          />
        </label>
        <datalist id="domains">
          {domains.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <p class="muted">{t('address_form_random')}</p>
        {servers.length > 1 && (
          <label>
            {t('server')}
            <select
              id="server"
              value={server}
              onChange={({ currentTarget }) => {
                setServer(currentTarget.value)
                setDomains([])
              }}
            >
              {servers.map((url) => (
                <option key={url}>{url}</option>
              ))}
            </select>
          </label>
        )}
      </details>
      <button id="create" class={isMain ? 'primary' : ''} type="submit" aria-disabled={isBusy}>
        {t('fill_new')}
      </button>
      {status}
    </form>
  )
}

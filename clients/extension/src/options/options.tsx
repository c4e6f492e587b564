import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { browser } from '../browser.ts'
import { sendRequest } from '../send-request.ts'
import { allowedSites } from '../sites.ts'
import { setLanguage, useStatus } from '../status.tsx'
import type { Server } from '../store.ts'
import { t } from '../texts.ts'
import { patternOf, serverUrl } from '../urls.ts'

const EMPTY = { url: '', key: '', domain: '' }

function Options() {
  const [servers, setServers] = useState<Server[]>([])
  const [sites, setSites] = useState<string[]>([])
  /** The URL of the server that is being changed. */
  const [former, setFormer] = useState<string>()
  const [typed, setTyped] = useState(EMPTY)
  const { line, attempt } = useStatus()
  const load = async () => {
    setServers(await sendRequest('servers', {}))
    setSites(await allowedSites())
  }
  useEffect(() => {
    const reload = () => void load()
    browser.permissions.onAdded.addListener(reload)
    browser.permissions.onRemoved.addListener(reload)
    reload()
  }, [])
  const save = async (event: Event) => {
    event.preventDefault()
    const isSaved = await attempt(async () => {
      const server = parseServer(typed)
      // First of all: browsers want the click to be recent.
      const pattern = patternOf(server.url)
      const origins = [pattern]
      const isAllowed = await browser.permissions.request({ origins }).catch(() => false)
      if (!isAllowed) throw new Error(t('error_permission', new URL(server.url).host))
      const hadAccess = [...sites, ...servers.map(({ url }) => patternOf(url))].includes(pattern)
      await sendRequest('save-server', { server, former, hadAccess })
      return t('address_settings_saved')
    })
    if (!isSaved) return
    setTyped(EMPTY)
    setFormer(undefined)
    await load()
  }
  const act = (type: 'default-server' | 'remove-server', url: string) =>
    attempt(async () => {
      await sendRequest(type, { url })
      await load()
      return undefined
    })
  const edit = (server: Server) => {
    setTyped({ ...EMPTY, ...server })
    setFormer(server.url)
    document.getElementById('url')?.focus()
  }
  return (
    <>
      <h1>Mayfly – {t('inbox_settings')}</h1>
      <form id="server-form" onSubmit={(event) => void save(event)}>
        <h2>{t(former === undefined ? 'add_server' : 'server')}</h2>
        <Fields typed={typed} setTyped={setTyped} />
        <button class="primary" type="submit">
          {t('address_settings_save')}
        </button>
        {line}
      </form>
      <Servers servers={servers} edit={edit} act={act} />
      <Sites sites={sites} />
    </>
  )
}

interface FieldsProps {
  typed: typeof EMPTY
  setTyped(typed: typeof EMPTY): void
}

function Fields({ typed, setTyped }: FieldsProps) {
  const field = (name: keyof typeof EMPTY) => ({
    id: name,
    dir: 'ltr' as const,
    value: typed[name],
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      setTyped({ ...typed, [name]: currentTarget.value }),
  })
  return (
    <>
      <label>
        {t('server_url')}
        <input
          {...field('url')}
          inputmode="url"
          placeholder="https://mail.example.com"
          required={true}
        />
      </label>
      <label>
        {t('server_key')}
        <input {...field('key')} type="password" autocomplete="off" aria-describedby="key-hint" />
      </label>
      <p id="key-hint" class="muted">
        {t('server_key_hint')}
      </p>
      <label>
        {t('server_domain')}
        <input {...field('domain')} aria-describedby="domain-hint" />
      </label>
      <p id="domain-hint" class="muted">
        {t('server_domain_hint')}
      </p>
    </>
  )
}

interface ServersProps {
  servers: Server[]
  edit(server: Server): void
  act(type: 'default-server' | 'remove-server', url: string): unknown
}

function Servers({ servers, edit, act }: ServersProps) {
  if (servers.length === 0) return null
  return (
    <section>
      <h2>{t('servers')}</h2>
      <ul id="servers">
        {servers.map((server, at) => (
          <li key={server.url} class="row">
            <span class="name">
              <bdi>{server.url}</bdi>
            </span>
            {at === 0 ? (
              <span class="muted">{t('default_server')}</span>
            ) : (
              <ItemButton name={server.url} run={() => act('default-server', server.url)}>
                {t('make_default')}
              </ItemButton>
            )}
            <ItemButton name={server.url} run={() => edit(server)}>
              {t('address_settings_edit')}
            </ItemButton>
            <ItemButton name={server.url} run={() => act('remove-server', server.url)}>
              {t('remove')}
            </ItemButton>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Sites({ sites }: { sites: string[] }) {
  return (
    <section>
      <h2>{t('sites')}</h2>
      {sites.length === 0 && <p class="muted">{t('sites_none')}</p>}
      <ul id="sites">
        {sites.map((site) => (
          <li key={site} class="row">
            <span class="name">
              <bdi>{site.replace(/^https:\/\/|\/\*$/g, '')}</bdi>
            </span>
            <ItemButton name={site} run={() => browser.permissions.remove({ origins: [site] })}>
              {t('remove')}
            </ItemButton>
          </li>
        ))}
      </ul>
    </section>
  )
}

function ItemButton({ name, run, children }: { name: string; run(): unknown; children: string }) {
  return (
    <button type="button" aria-label={`${children}: ${name}`} onClick={() => void run()}>
      {children}
    </button>
  )
}

function parseServer({ url: typed, key, domain }: typeof EMPTY): Server {
  const url = serverUrl(typed)
  if (url === undefined) throw new Error(t('error_url'))
  return {
    url,
    ...(key.trim() && { key: key.trim() }),
    ...(domain.trim() && { domain: domain.trim() }),
  }
}

setLanguage()
const app = document.getElementById('app')
if (app) render(<Options />, app)

import { formatSize } from '../../src/shared/format-size.ts'
import { useObjectUrl } from '../key/secrets.tsx'
import { Button } from '../site/controls.tsx'
import { language, t } from '../site/i18n.ts'
import { type ConsoleState, getSecret, setSecret } from './console-state.ts'
import type { ApiResponse, ResponseBody } from './send-request.ts'

export function ResponseView({ trial }: { trial: ConsoleState }) {
  const { outcome: found, events } = trial.progress.value
  if (!found) return null
  const good = found.status < 400
  return (
    <section class="answered" aria-label={t('docs_response')}>
      <p class="row">
        <span class={`badge ${good ? 'good' : 'bad'}`}>
          <bdi dir="ltr">
            {found.status} {found.statusText}
          </bdi>
        </span>
        <span class="soft">{t('docs_duration', { time: found.tookMs })}</span>
      </p>
      <Headers headers={found.headers} />
      {found.body.kind === 'stream' ? <Events texts={events} /> : <Body body={found.body} />}
    </section>
  )
}

function Headers({ headers }: Pick<ApiResponse, 'headers'>) {
  return (
    <details class="more">
      <summary>{t('docs_headers')}</summary>
      <dl class="answered-headers" dir="ltr">
        {headers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function Events({ texts }: { texts: readonly string[] }) {
  return (
    <>
      <p class="soft">{t('docs_events', { count: texts.length })}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre role="log" tabIndex={0} aria-label={t('docs_response')}>
        {texts.join('\n\n')}
      </pre>
    </>
  )
}

function Body({ body }: { body: ResponseBody }) {
  if (body.kind === 'none') return <p class="soft">{t('docs_empty')}</p>
  if (body.kind === 'file') return <File blob={body.blob} name={body.name} />
  if (body.kind === 'stream') return null
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre tabIndex={0}>
        <code>{body.text}</code>
      </pre>
      {body.kind === 'text' && body.cut && (
        <p class="soft">
          {t('docs_truncated', { size: formatSize(body.text.length, language.value) })}
        </p>
      )}
      {body.kind === 'json' && <UseSecretButtons value={body.value} />}
    </>
  )
}

/** A token or key in the response can be used for the other calls. */
function UseSecretButtons({ value }: { value: unknown }) {
  const { token, key } = (value ?? {}) as { token?: unknown; key?: unknown }
  return (
    <>
      {typeof token === 'string' && <UseSecretButton opens="token" secret={token} />}
      {typeof key === 'string' && <UseSecretButton opens="key" secret={key} />}
    </>
  )
}

function UseSecretButton({ opens, secret }: { opens: 'token' | 'key'; secret: string }) {
  const used = getSecret(opens) === secret
  const words = opens === 'token' ? 'docs_use_token' : 'docs_use_key'
  return (
    <Button class="plain" disabled={used} onClick={() => setSecret(opens, secret)}>
      {t(used ? 'docs_in_use' : words)}
    </Button>
  )
}

function File({ blob, name }: { blob: Blob; name: string }) {
  return (
    <a class="button plain" href={useObjectUrl(blob)} download={name}>
      {t('docs_save', { name, size: formatSize(blob.size, language.value) })}
    </a>
  )
}

import { Fragment } from 'preact'
import { useRef } from 'preact/hooks'
import type { Message } from '../site/api.ts'
import { CopyButton } from '../site/copy-button.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { parseLink } from '../site/link-target.ts'
import './cards.css'

/** Verification codes, the most likely one large. */
export function CodeCard({ codes }: { codes: readonly string[] }) {
  const [best, ...others] = codes
  if (best === undefined) return null
  return (
    <section class="card" aria-label={t('reader_code')}>
      <p class="card-name">{t('reader_code')}</p>
      <Code value={best} class="code-big" />
      {others.length > 0 && (
        <div class="codes-other">
          <p class="soft">{t('reader_other_codes')}</p>
          {others.slice(0, MAX_OTHERS).map((value) => (
            <Code key={value} value={value} class="code-small" />
          ))}
        </div>
      )}
    </section>
  )
}

const MAX_OTHERS = 4

function Code({ value, class: size }: { value: string; class: keyof typeof BUTTONS }) {
  const textRef = useRef<HTMLElement>(null)
  return (
    <div class="code-row row">
      <bdi class={size} ref={textRef} dir="ltr">
        {value}
      </bdi>
      <CopyButton
        text={value}
        textRef={textRef}
        label={[...value].join(' ')}
        class={BUTTONS[size]}
      />
    </div>
  )
}

const BUTTONS = { 'code-big': '', 'code-small': 'plain' } as const

const KINDS = ['verify', 'sign_in', 'reset'] as const

/** The confirmation link, with its host. */
export function LinkCard({ links }: { links: Message['links'] }) {
  const kind = KINDS.find((one) => links.some((link) => link.kind === one))
  const link = links.find((one) => one.kind === kind)
  const target = link && parseLink(link.url)
  if (!kind || target?.kind !== 'web') return null
  return (
    <section class="card" aria-label={t(`reader_link_${kind}`)}>
      <p class="card-name">{t(`reader_link_${kind}`)}</p>
      <div class="code-row row">
        <p class="link-host">
          <span class="unseen">{t('reader_link_goes_to')} </span>
          <bdi dir="ltr">
            {/* Breaks at the dots first. */}
            {target.host.split('.').map((label, index) => (
              <Fragment key={index}>
                {index > 0 && (
                  <>
                    .<wbr />
                  </>
                )}
                {label}
              </Fragment>
            ))}
          </bdi>
        </p>
        <a class="button" href={target.href} target="_blank" rel="noopener noreferrer">
          <Icon name="out" />
          {t('site_open')}
        </a>
      </div>
      {target.warnings.map((warning) => (
        <p key={warning} class="card-warning">
          {t(`leave_${warning}`)}
        </p>
      ))}
    </section>
  )
}

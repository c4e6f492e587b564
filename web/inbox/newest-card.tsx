import { useRef } from 'preact/hooks'
import { displaySender } from '../../src/shared/sender-display.ts'
import type { MessageSummary } from '../site/api.ts'
import { Button } from '../site/controls.tsx'
import { CopyButton } from '../site/copy-button.tsx'
import { formatShortTime } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import type { ActionLink } from './messages.ts'
import './newest-card.css'

interface NewestCardProps {
  message: MessageSummary
  /** Shown if the message has no code. */
  link: ActionLink | undefined
  onCopy(): void
  onOpen(): void
}

/** The code or the link of a message, while none is open. */
export function NewestCard({ message, link, onCopy, onOpen }: NewestCardProps) {
  const { code } = message
  const textRef = useRef<HTMLElement>(null)
  const { title: sender } = displaySender(message.sender_name, message.sender_email)
  const name = code === null && link ? t(`reader_link_${link.kind}`) : t('reader_code')
  return (
    <section class="newest" aria-label={name}>
      <p class="newest-name">{name}</p>
      {code !== null ? (
        <bdi class="newest-code" ref={textRef} dir="ltr">
          {code}
        </bdi>
      ) : (
        <p class="newest-host">
          <span class="unseen">{t('reader_link_goes_to')} </span>
          <bdi dir="ltr">{link?.host}</bdi>
        </p>
      )}
      <p class="newest-from">
        <bdi>{sender || t('reader_no_sender')}</bdi>
        <span class="newest-time">
          {' · '}
          <time dateTime={message.received_at_iso}>{formatShortTime(message.received_at_iso)}</time>
        </span>
      </p>
      <div class="row">
        {code !== null && (
          <CopyButton
            text={code}
            textRef={textRef}
            label={[...code].join(' ')}
            class=""
            onCopy={onCopy}
          />
        )}
        {code === null && link && (
          <a
            class="button"
            href={link.url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={onCopy}
          >
            <Icon name="out" />
            {t('site_open')}
          </a>
        )}
        <Button class="plain" onClick={onOpen}>
          {t('inbox_key_open')}
        </Button>
      </div>
    </section>
  )
}

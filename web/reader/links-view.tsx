import type { Message } from '../site/api.ts'
import { t } from '../site/i18n.ts'
import { type LinkWarning, leavePath, otherHost, parseLink } from '../site/link-target.ts'

type Link = Message['links'][number]

/** Where each link leads and what is odd about it, by its text alone: nothing is requested. */
export function LinksView({ links }: { links: readonly Link[] }) {
  return (
    <>
      <p class="soft">{t('reader_links_how')}</p>
      <ul class="file-list">
        {links.map((link, index) => (
          <LinkRow key={index} link={link} />
        ))}
      </ul>
    </>
  )
}

function LinkRow({ link }: { link: Link }) {
  const target = parseLink(link.url)
  const host = target.kind === 'web' ? target.host : link.host
  const warnings: readonly LinkWarning[] = target.kind === 'web' ? target.warnings : []
  const other = otherHost(link.text, host)
  return (
    <li class="file row">
      <div class="file-about">
        <a
          class="file-name"
          href={leavePath(link.url)}
          target="_blank"
          rel="noopener noreferrer"
          title={link.url}
        >
          <bdi dir="ltr">{host}</bdi>
        </a>
        {link.text && <bdi class="soft link-text">{link.text}</bdi>}
      </div>
      {other && <p class="file-risk">{t('reader_link_differs', { host: other })}</p>}
      {warnings.map((warning) => (
        <p key={warning} class={warning === 'unencrypted' ? 'file-risk' : 'file-risk bad'}>
          {t(`leave_${warning}`)}
        </p>
      ))}
    </li>
  )
}

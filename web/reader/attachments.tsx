import { formatSize } from '../../src/shared/format-size.ts'
import type { Attachment } from '../site/api-client.ts'
import { language, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { type Risk, risksOf } from './attachment-risk.ts'
import { SaveButton } from './save-button.tsx'

interface AttachmentsProps {
  attachments: readonly Attachment[]
  token: string
  /** Element id of the heading. */
  id: string
}

/** Images that the body displays are listed separately. */
export function Attachments({ attachments, token, id }: AttachmentsProps) {
  const inline = attachments.filter(isInlineImage)
  const files = regularFiles(attachments)
  return (
    <>
      {files.length > 0 && (
        <section class="files">
          <h3 id={id} tabIndex={-1}>
            {t('reader_attachments', { count: files.length })}
          </h3>
          <Files files={files} token={token} />
        </section>
      )}
      {inline.length > 0 && (
        <details class="files">
          <summary>{t('reader_inline_images', { count: inline.length })}</summary>
          <Files files={inline} token={token} />
        </details>
      )}
    </>
  )
}

export function regularFiles(attachments: readonly Attachment[]): Attachment[] {
  return attachments.filter((one) => !isInlineImage(one))
}

function isInlineImage({ inline, content_id: id, content_type: type }: Attachment): boolean {
  return inline && id !== null && type.startsWith('image/') && !type.includes('svg')
}

function Files({ files, token }: { files: readonly Attachment[]; token: string }) {
  return (
    <ul class="file-list">
      {files.map((file) => (
        <File key={file.index} file={file} token={token} />
      ))}
    </ul>
  )
}

function File({ file, token }: { file: Attachment; token: string }) {
  const { filename: name, content_type: type, size, url } = file
  return (
    <li class="file row">
      <Icon name="file" />
      <div class="file-about">
        <bdi class="file-name">{name}</bdi>
        <span class="soft">
          <bdi>{type}</bdi> · <bdi>{formatSize(size, language.value)}</bdi>
        </span>
      </div>
      <SaveButton path={url} token={token} name={name} caption={t('reader_attachment_save')} />
      {risksOf(name, type).map((risk) => (
        <p key={risk} class={SEVERE.has(risk) ? 'file-risk bad' : 'file-risk'}>
          {t(`reader_risk_${risk}`, { ending: name.split('.').at(-1) ?? '' })}
        </p>
      ))}
    </li>
  )
}

const SEVERE: ReadonlySet<Risk> = new Set<Risk>(['double', 'program', 'turned'])

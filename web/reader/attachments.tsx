import {
  isCalendar,
  isInlineImage,
  regularAttachments,
  typeName,
} from '../../src/shared/attachment.ts'
import { formatSize } from '../../src/shared/format-size.ts'
import { useAction } from '../site/action.tsx'
import type { Attachment } from '../site/api.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { language, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { type Risk, risksOf } from './attachment-risk.ts'
import { Picture, picturedFiles } from './picture.tsx'
import { download, SaveButton } from './save-button.tsx'

interface AttachmentsProps {
  attachments: readonly Attachment[]
  token: string
}

/** Images that the body displays are listed separately. */
export function Attachments({ attachments, token }: AttachmentsProps) {
  const inline = attachments.filter((file) => isInlineImage(dispositionOf(file)))
  const files = regularFiles(attachments)
  return (
    <>
      {attachments.length > 1 && (
        <SaveAll files={files.length > 1 ? files : attachments} token={token} />
      )}
      {files.length > 0 && <Files files={files} token={token} />}
      {inline.length > 0 && (
        <section class="files">
          <h3>{t('reader_inline_images', { count: inline.length })}</h3>
          <Files files={inline} token={token} />
        </section>
      )}
    </>
  )
}

interface StripProps extends AttachmentsProps {
  onShowAll(): void
}

/** Below the message, in one line; an invitation has a card. What may be harmful is not saved from here: its warnings are in the list. */
export function AttachmentStrip({ attachments, token, onShowAll }: StripProps) {
  const files = regularFiles(attachments).filter((file) => !isCalendar(dispositionOf(file)))
  if (files.length === 0) return null
  const pictured = picturedFiles(files)
  return (
    <ul class="strip" aria-label={attachmentsLabel(attachments)}>
      {files.map((file) => {
        const { filename: name, content_type: type, size, url } = file
        const [risk] = risksOf(name, type)
        return (
          <li key={file.index} class="strip-file">
            {pictured.has(file) ? <Picture file={file} token={token} /> : <Icon name="file" />}
            <span class="strip-about">
              <bdi class="strip-name" title={name}>
                {name}
              </bdi>
              <bdi class="soft">{formatSize(size, language.value)}</bdi>
            </span>
            {risk ? (
              <Button
                icon="warning"
                class="quiet icon strip-risk"
                aria-label={`${name}: ${riskText(risk, name)}`}
                title={riskText(risk, name)}
                onClick={onShowAll}
              />
            ) : (
              <SaveButton
                path={url}
                token={token}
                name={name}
                caption={t('reader_attachment_save')}
                class="quiet icon"
              />
            )}
          </li>
        )
      })}
    </ul>
  )
}

export function regularFiles(attachments: readonly Attachment[]): Attachment[] {
  return regularAttachments(attachments.map((file) => ({ file, ...dispositionOf(file) }))).map(
    ({ file }) => file,
  )
}

export function attachmentsLabel(attachments: readonly Attachment[]): string {
  const files = regularFiles(attachments).length
  if (files > 0) return t('reader_attachments', { count: files })
  return t('reader_inline_images', { count: attachments.length })
}

export function dispositionOf({ inline, content_id, content_type }: Attachment) {
  return { inline, contentId: content_id, contentType: content_type }
}

/** One after the other: the browser asks once whether it may save several files. */
function SaveAll({ files, token }: { files: readonly Attachment[]; token: string }) {
  const { isBusy, error, run } = useAction()
  const save = async () => {
    for (const { url, filename } of files) await download(url, token, filename)
    return ''
  }
  return (
    <div>
      <Button icon="save" class="plain small" disabled={isBusy} onClick={() => void run(save)}>
        {t('reader_attachments_save_all')}
      </Button>
      <ErrorMessage error={error} />
    </div>
  )
}

function Files({ files, token }: { files: readonly Attachment[]; token: string }) {
  const pictured = picturedFiles(files)
  return (
    <ul class="file-list">
      {files.map((file) => (
        <File key={file.index} file={file} token={token} hasPicture={pictured.has(file)} />
      ))}
    </ul>
  )
}

interface FileProps {
  file: Attachment
  token: string
  hasPicture: boolean
}

function File({ file, token, hasPicture }: FileProps) {
  const { filename: name, content_type: type, size, url } = file
  return (
    <li class="file row">
      {hasPicture ? <Picture file={file} token={token} /> : <Icon name="file" />}
      <div class="file-about">
        <bdi class="file-name">{name}</bdi>
        <span class="soft">
          <bdi>{typeName(type)}</bdi> · <bdi>{formatSize(size, language.value)}</bdi>
        </span>
      </div>
      <SaveButton path={url} token={token} name={name} caption={t('reader_attachment_save')} />
      {risksOf(name, type).map((risk) => (
        <p key={risk} class={SEVERE.has(risk) ? 'file-risk bad' : 'file-risk'}>
          {riskText(risk, name)}
        </p>
      ))}
    </li>
  )
}

const SEVERE: ReadonlySet<Risk> = new Set<Risk>(['double', 'program', 'turned'])

function riskText(risk: Risk, name: string): string {
  return t(`reader_risk_${risk}`, { ending: name.split('.').at(-1) ?? '' })
}

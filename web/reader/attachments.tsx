import { useEffect, useState } from 'preact/hooks'
import { isInlineImage, typeName } from '../../src/shared/attachment.ts'
import { formatSize } from '../../src/shared/format-size.ts'
import { useAction } from '../site/action.tsx'
import type { Attachment } from '../site/api.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { language, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { type Risk, risksOf } from './attachment-risk.ts'
import { pictureUri } from './pictures.ts'
import { download, SaveButton } from './save-button.tsx'

interface AttachmentsProps {
  attachments: readonly Attachment[]
  token: string
}

/** Images that the body displays are listed separately. */
export function Attachments({ attachments, token }: AttachmentsProps) {
  const inline = attachments.filter(isInline)
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

export function regularFiles(attachments: readonly Attachment[]): Attachment[] {
  return attachments.filter((one) => !isInline(one))
}

export function attachmentsLabel(attachments: readonly Attachment[]): string {
  const files = regularFiles(attachments).length
  if (files > 0) return t('reader_attachments', { count: files })
  return t('reader_inline_images', { count: attachments.length })
}

function isInline({ inline, content_id: contentId, content_type: contentType }: Attachment) {
  return isInlineImage({ inline, contentId, contentType })
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
      <Preview file={file} token={token} />
      <div class="file-about">
        <bdi class="file-name">{name}</bdi>
        <span class="soft">
          <bdi>{typeName(type)}</bdi> · <bdi>{formatSize(size, language.value)}</bdi>
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

// Loaded only to be looked at.
const MAX_PREVIEW_BYTES = 3_000_000

/** A small picture of an image, an icon for anything else. */
function Preview({ file, token }: { file: Attachment; token: string }) {
  const [uri, setUri] = useState<string>()
  const { content_type: type, size, url } = file
  useEffect(() => {
    if (!type.startsWith('image/') || size > MAX_PREVIEW_BYTES) return
    const abort = new AbortController()
    void pictureUri(url, token, abort.signal).then(setUri)
    return () => abort.abort()
  }, [url, token])
  // What only claims to be an image gets the icon, too.
  return uri ? (
    <img class="file-preview" src={uri} alt="" onError={() => setUri(undefined)} />
  ) : (
    <Icon name="file" />
  )
}

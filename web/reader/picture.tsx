import { useEffect, useState } from 'preact/hooks'
import type { Attachment } from '../site/api.ts'
import { Dialog } from '../site/dialog.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { pictureBlob } from './pictures.ts'
import { SaveButton } from './save-button.tsx'

interface PictureProps {
  file: Attachment
  token: string
}

// Loaded only to be looked at.
const MAX_BYTES = 3_000_000
// Each takes a request, and a mail may have a thousand.
const MAX_COUNT = 12

/** The files of which a picture is shown. */
export function picturedFiles(files: readonly Attachment[]): ReadonlySet<Attachment> {
  const images = files.filter(
    ({ content_type: type, size }) => type.startsWith('image/') && size <= MAX_BYTES,
  )
  return new Set(images.slice(0, MAX_COUNT))
}

/** A small picture of an image. A click on it enlarges it. */
export function Picture({ file, token }: PictureProps) {
  const url = usePicture(file, token)
  const [isLarge, setLarge] = useState(false)
  const [isBroken, setBroken] = useState(false)
  // Also for what only claims to be an image.
  if (!url || isBroken) return <Icon name="file" />
  const { filename: name } = file
  return (
    <>
      <button
        type="button"
        class="picture quiet"
        aria-label={t('reader_enlarge', { name })}
        title={t('reader_enlarge', { name })}
        onClick={() => setLarge(true)}
      >
        <img src={url} alt="" onError={() => setBroken(true)} />
      </button>
      {isLarge && (
        <Dialog title={name} onClose={() => setLarge(false)}>
          <img class="picture-large" src={url} alt={name} />
          <div class="row">
            <SaveButton
              path={file.url}
              token={token}
              name={name}
              caption={t('reader_attachment_save')}
            />
          </div>
        </Dialog>
      )}
    </>
  )
}

/** URL of a blob: an image element decodes it, and it is never a document. */
function usePicture({ url: path }: Attachment, token: string) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const abort = new AbortController()
    let made: string | undefined
    void pictureBlob(path, token, abort.signal).then((blob) => {
      if (!blob || abort.signal.aborted) return
      made = URL.createObjectURL(blob)
      setUrl(made)
    })
    return () => {
      abort.abort()
      if (made) URL.revokeObjectURL(made)
    }
  }, [path, token])
  return url
}

import { say } from '../site/words.ts'
import { imageWishes } from './image-wishes.ts'

interface RemoteImagesProps {
  count: number
  loaded: boolean
  /** Whom the reader may trust for good; undefined: nobody vouches for him. */
  sender: string | undefined
  always: boolean
  onOnce(): void
}

/** What is not loaded, and what can be done about it. */
export function RemoteImages({ count, loaded, sender, always, onOnce }: RemoteImagesProps) {
  if (always && sender) {
    return (
      <div class="remote-images" role="status">
        <p>{say('reader_images_loaded', { sender })}</p>
        <button type="button" class="plain" onClick={() => imageWishes.remove(sender)}>
          {say('reader_images_stop')}
        </button>
      </div>
    )
  }
  if (loaded) return null
  return (
    <div class="remote-images">
      <p>
        <strong>{say('reader_images', { count })}</strong> {say('reader_images_why')}
        {!sender && <> {say('reader_images_unproven')}</>}
      </p>
      <div class="row">
        <button type="button" class="plain" onClick={onOnce}>
          {say('reader_images_once')}
        </button>
        {sender && (
          <button type="button" class="plain" onClick={() => imageWishes.add(sender)}>
            {say('reader_images_always', { sender })}
          </button>
        )}
      </div>
    </div>
  )
}

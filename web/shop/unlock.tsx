import { say } from '../site/words.ts'

/** For who comes without the link: the claim secret can be given by hand. */
export function Unlock({ onUnlock }: { onUnlock(secret: string): Promise<void> }) {
  return (
    <form
      class="unlock"
      onSubmit={(event) => {
        event.preventDefault()
        const given = new FormData(event.currentTarget).get('secret')
        void onUnlock(String(given).trim())
      }}
    >
      <p>{say('shop_unlock')}</p>
      <div class="field">
        <label for="secret">{say('shop_secret')}</label>
        <input
          id="secret"
          name="secret"
          dir="ltr"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          required
        />
      </div>
      <button type="submit">{say('shop_open')}</button>
    </form>
  )
}

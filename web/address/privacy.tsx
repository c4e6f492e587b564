import { facts } from '../site/facts.ts'
import { spanWords } from '../site/time-words.ts'
import { language, say } from '../site/words.ts'

/** What becomes of the mail, in the reader's words. */
export function Privacy() {
  const time = (seconds: number) => spanWords(seconds * 1000, language.value, 'long')
  return (
    <details class="privacy">
      <summary>{say('address_privacy')}</summary>
      <ul>
        <li>{say('address_privacy_mail', { time: time(facts.life) })}</li>
        <li>{say('address_privacy_rest', { time: time(facts.cooldown) })}</li>
        <li>{say('address_privacy_token')}</li>
        <li>{say('address_privacy_none')}</li>
        {facts.abuse && (
          <li>
            {say('address_privacy_abuse')} <a href={`mailto:${facts.abuse}`}>{facts.abuse}</a>
          </li>
        )}
      </ul>
    </details>
  )
}

import { Frame } from '../site/frame.tsx'
import { openPage } from '../site/open-page.tsx'
import { entitle } from '../site/title.ts'
import { say } from '../site/words.ts'
import { heldKey } from './held-key.ts'
import { KeyForm } from './key-form.tsx'
import { Rolled } from './roll.tsx'
import { Samples } from './samples.tsx'
import { askPlanNames, askUsage, usage } from './usage.ts'
import { UsageView } from './usage-view.tsx'
import './key.css'

function KeyPage() {
  return (
    <Frame at="key">
      <h1>{say('site_key')}</h1>
      <p class="lead">{say('key_lead')}</p>
      <div class="key-parts">
        {usage.value ? (
          <>
            <Rolled />
            <UsageView usage={usage.value} />
            <section class="panel" aria-labelledby="samples">
              <h2 id="samples">{say('key_samples')}</h2>
              <Samples apiKey={heldKey.value} />
            </section>
          </>
        ) : (
          <KeyForm />
        )}
      </div>
    </Frame>
  )
}

entitle('site_key')
void askPlanNames()
// A key of this tab is looked up before anything is shown: the form would only blink.
if (heldKey.value !== '') await askUsage()
await openPage(() => <KeyPage />)

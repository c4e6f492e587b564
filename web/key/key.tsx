import { Frame } from '../site/frame.tsx'
import { openPage } from '../site/open-page.tsx'

await openPage(() => (
  <Frame>
    <h1>key</h1>
  </Frame>
))

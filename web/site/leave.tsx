import { Frame } from './frame.tsx'
import { openPage } from './open-page.tsx'

await openPage(() => (
  <Frame>
    <h1>leave</h1>
  </Frame>
))

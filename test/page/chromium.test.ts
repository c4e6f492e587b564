import { startChromium } from '../kit/page/engines/chromium.ts'
import { OTHER_PAGES } from '../kit/page/engines/flows.ts'
import { testEngine } from '../kit/page/engines/suite.ts'

// The rest of test/page has more about the inbox.
testEngine(startChromium, OTHER_PAGES)

import { startChromium } from '../kit/page/engines/chromium.ts'
import { testEngine } from '../kit/page/engines/suite.ts'

testEngine(startChromium)

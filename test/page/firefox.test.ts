import { startFirefox } from '../kit/page/engines/firefox.ts'
import { testEngine } from '../kit/page/engines/suite.ts'

testEngine(startFirefox)

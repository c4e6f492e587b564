import { testEngine } from '../kit/page/engines/suite.ts'
import { startWebKit } from '../kit/page/engines/webkit.ts'

testEngine(startWebKit)

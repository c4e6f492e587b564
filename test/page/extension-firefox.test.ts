import { startInFirefox } from '../kit/page/extension/firefox.ts'
import { testExtension } from '../kit/page/extension/suite.ts'

testExtension(startInFirefox)

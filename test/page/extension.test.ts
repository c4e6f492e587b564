import { startInChromium } from '../kit/page/extension/chromium.ts'
import { HOST } from '../kit/page/extension/sign-up-site.ts'
import { testExtension } from '../kit/page/extension/suite.ts'

testExtension(startInChromium({ hosts: ['127.0.0.1', HOST] }))

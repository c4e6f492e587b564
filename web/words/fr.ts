import type { Words } from '../site/words.ts'
import { en } from './en.ts'

export const fr: Words = { ...en }

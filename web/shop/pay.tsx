import { enhancePage } from '../site/layout.tsx'
import './shop.css'

await enhancePage('plans')

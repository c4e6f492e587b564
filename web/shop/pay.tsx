import { dressPage } from '../site/dress.tsx'
import './shop.css'

await dressPage('plans')

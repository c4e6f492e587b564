import './page.ts'
import { buildServer } from './server.ts'

await buildServer()

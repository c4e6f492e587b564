import { openSmtpServer } from '../server.ts'
import { recordingDeps } from './recording-deps.ts'

// A process of its own, for tests that take away what a process needs. Prints its port; ends with its standard input.
const { deps } = recordingDeps()
const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test' })
process.stdout.write(`${server.port}\n`)
process.stdin.resume().on('end', () => process.exit())

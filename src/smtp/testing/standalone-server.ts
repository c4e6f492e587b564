import { openSmtpServer } from '../server.ts'
import { recordingDeps } from './recording-deps.ts'

// Runs as a separate process, for tests that limit its resources. Prints its port; exits when stdin closes.
const { deps } = recordingDeps()
const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test' })
process.stdout.write(`${server.port}\n`)
process.stdin.resume().on('end', () => process.exit())

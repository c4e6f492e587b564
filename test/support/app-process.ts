import { startApp } from './app.ts'

// A service in a process of its own, whose parent sends by how many seconds to move its clock.

const [, , path = '', store = '', at = ''] = process.argv
const { smtpPort, moveClock } = await startApp({
  folder: { path, remove() {} },
  env: { MAYFLY_STORE: store },
  at: new Date(at),
})
process.on('message', moveClock)
process.send?.(smtpPort)

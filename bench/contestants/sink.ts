import { createServer, type Socket } from 'node:net'

// The runtime's limit: the least that can be called an SMTP server on this Node. It reads commands and mails correctly
// however they are cut or run together, says yes to all of them, and keeps nothing.

const END = Buffer.from('\r\n.\r\n')
const KEPT_BACK = END.length - 1

function serve(socket: Socket): void {
  let line = ''
  let inData = false
  // The last bytes of what was read of a mail: the end may be cut in two. It may also stand at the very start.
  let tail: Buffer = Buffer.alloc(0)

  /** Reads commands up to DATA and answers them all at once; returns what is left over. */
  function readCommands(chunk: Buffer): Buffer {
    const text = line + chunk.toString('latin1')
    let replies = ''
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const verb = text.slice(start, start + 4).toUpperCase()
      start = end + 1
      if (verb === 'DATA') {
        socket.write(`${replies}354 go on\r\n`)
        const rest = chunk.subarray(chunk.length - (text.length - start))
        line = ''
        inData = true
        tail = Buffer.from('\r\n')
        return rest
      }
      if (verb === 'QUIT') {
        socket.end(`${replies}221 bye\r\n`)
        return Buffer.alloc(0)
      }
      replies += verb === 'EHLO' ? '250-sink.test\r\n250 PIPELINING\r\n' : '250 ok\r\n'
    }
    line = text.slice(start)
    if (replies !== '') socket.write(replies)
    return Buffer.alloc(0)
  }

  /** Reads over a mail; returns what comes after its end. */
  function readMail(chunk: Buffer): Buffer {
    const seam = Buffer.concat([tail, chunk.subarray(0, KEPT_BACK)])
    const atSeam = seam.indexOf(END)
    const end = atSeam >= 0 ? atSeam - tail.length : chunk.indexOf(END)
    if (end < 0 && atSeam < 0) {
      tail = chunk.length >= KEPT_BACK ? chunk.subarray(-KEPT_BACK) : seam.subarray(-KEPT_BACK)
      return Buffer.alloc(0)
    }
    inData = false
    socket.write('250 taken\r\n')
    return chunk.subarray(end + END.length)
  }

  socket.setNoDelay()
  socket.write('220 sink.test ESMTP\r\n')
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    let rest: Buffer = chunk
    while (rest.length > 0) rest = inData ? readMail(rest) : readCommands(rest)
  })
}

createServer(serve).listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 1024 })

import { createServer, type Socket } from 'node:net'

// Baseline: a minimal SMTP server on this Node. It parses commands and mails correctly across chunk boundaries, accepts
// everything and stores nothing.

const END = Buffer.from('\r\n.\r\n')
const OVERLAP = END.length - 1

function serve(socket: Socket): void {
  let line = ''
  let inData = false
  // The last bytes of the previous chunk, because the terminator may be split. A mail may also be empty.
  let tail: Buffer = Buffer.alloc(0)

  /** Handles commands up to DATA with a single write; returns the unread rest. */
  function readCommands(chunk: Buffer): Buffer {
    const text = line + chunk.toString('latin1')
    let replies = ''
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const verb = text.slice(start, start + 4).toUpperCase()
      start = end + 1
      if (verb === 'DATA') {
        socket.write(`${replies}354 Go ahead\r\n`)
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

  /** Skips a mail; returns the bytes after its end. */
  function readMail(chunk: Buffer): Buffer {
    const seam = Buffer.concat([tail, chunk.subarray(0, OVERLAP)])
    const atSeam = seam.indexOf(END)
    const end = atSeam >= 0 ? atSeam - tail.length : chunk.indexOf(END)
    if (end < 0 && atSeam < 0) {
      tail = chunk.length >= OVERLAP ? chunk.subarray(-OVERLAP) : seam.subarray(-OVERLAP)
      return Buffer.alloc(0)
    }
    inData = false
    socket.write('250 OK\r\n')
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

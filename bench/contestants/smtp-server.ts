import { SMTPServer } from 'smtp-server'

// The common Node library, discarding mail: no TLS, no AUTH, no reverse DNS lookups.

new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  onData(stream, _session, callback) {
    stream.on('end', callback)
    stream.resume()
  },
}).listen(Number(process.argv[2]), '127.0.0.1')

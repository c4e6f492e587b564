import { SMTPServer } from 'smtp-server'

// The usual library, discarding: no TLS, no sign-in, no reverse look-up of names.

new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  onData(stream, _session, callback) {
    stream.on('end', callback)
    stream.resume()
  },
}).listen(Number(process.argv[2]), '127.0.0.1')

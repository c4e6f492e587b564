// A child that never reports that it is ready.
process.on('message', () => {})

// A parse child that comes up and never says that it is ready.
process.on('message', () => {})

import { program } from './programs.ts'

const SCRIPT = `
import os, pty, signal, subprocess, sys, threading
master, slave = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stderr=slave)
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
def copy():
    while True: os.write(2, os.read(master, 4096))
threading.Thread(target=copy, daemon=True).start()
sys.exit(child.wait())`

/** Runs a program whose standard error is a terminal, and passes that on; standard output stays as it is. */
export function onTerminal(): string[] {
  return [program('python3'), '-c', SCRIPT]
}

import type { Log } from '../base/log/log.ts'
import type { Endpoints } from './banner.ts'

/**
 * What commands work with; each names what it needs of the settings and the stores. A part is opened only when a command uses
 * it: most run beside a service on the same data directory.
 */
export interface CommandContext<Config = unknown, Mail = unknown, Shop = unknown> {
  config(): Config
  endpoints(): Endpoints
  withMail(operation: (store: Mail) => Promise<void>): Promise<void>
  withShop(operation: (shop: Shop) => Promise<void>): Promise<void>
  /** On standard error: the standard output of a command is its result. */
  openLog(level?: 'info' | 'warn'): Promise<Log>
  now(): Date
  randomBytes(count: number): Uint8Array
}

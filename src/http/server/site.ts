import type { Call } from './route.ts'

/** Where we are reached: as the operator says, else as the reader reached us, or a blank to fill in. */
export function siteUrl(
  baseUrl: string,
  { headers: { host = '' }, secure }: Pick<Call, 'headers' | 'secure'>,
): string {
  if (baseUrl !== '') return baseUrl
  // A name and a port and nothing else: what stands there is the reader's word.
  return `${secure() ? 'https' : 'http'}://${/^[a-z0-9.:[\]-]{1,255}$/i.test(host) ? host : 'HOST'}`
}

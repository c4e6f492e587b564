/** Headers of a file that a browser saves and never shows: what a stranger sent must not run under our name. */
export function downloadHeaders(filename: string): Record<string, string> {
  return {
    'content-disposition': disposition(filename),
    'content-security-policy': "sandbox; default-src 'none'",
  }
}

/** RFC 6266: an ASCII name for old clients, the true one beside it. */
export function disposition(filename: string): string {
  const ascii = filename.replace(/[^A-Za-z0-9 ._()-]/gu, '_')
  // encodeURIComponent leaves these five, which RFC 8187 does not allow all of; half characters it refuses.
  const exact = encodeURIComponent(filename.toWellFormed()).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`
}

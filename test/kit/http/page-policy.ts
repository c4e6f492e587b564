/** The Content-Security-Policy of every page that shows no mail. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; manifest-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** What a page loads or runs besides its own build, or a wrong policy; undefined if nothing is wrong. */
export function policyFault(text: string): string | undefined {
  const loaded = [...text.matchAll(/(?:src|<link(?! rel="canonical")[^>]* href)="([^"]*)"/g)].map(
    ([, path = '']) => path,
  )
  const foreign = loaded.find(
    (path) => !/^\/(assets\/[\w.-]+|favicon\.svg|icons\/[\w.-]+|manifest\.webmanifest)$/.test(path),
  )
  if (foreign !== undefined) return foreign
  return /<script(?![^>]* src=)[^>]*>|<style|<img|<iframe|<base|@import|url\(|<[^>]* (?:style|on\w+)=/i.exec(
    text,
  )?.[0]
}

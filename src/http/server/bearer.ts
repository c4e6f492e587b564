/** The secret of an Authorization header; undefined when it holds none. */
export function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1]
}

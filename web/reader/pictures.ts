import { type Message, request } from '../site/api-client.ts'

// What is shown is in memory three times over: as bytes, as text, and as a picture.
const MAX_BYTES = 8_000_000
const MAX_COUNT = 60
const RASTER = /^image\/(?:png|jpeg|gif|webp)$/

/** The pictures that came with a mail and stand in it, as data: URIs, by content id. What cannot be had is left out. */
export async function picturesOf(
  { body_html: html, attachments }: Pick<Message, 'body_html' | 'attachments'>,
  token: string,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const named = new Set(
    [...(html ?? '').matchAll(/\bcid:([^"'\s)>]{1,400})/gi)].map(([, id = '']) => contentId(id)),
  )
  let room = MAX_BYTES
  const wanted = attachments.flatMap(({ content_id: id, size, url }) => {
    if (id === null || !named.has(contentId(id)) || size > room) return []
    room -= size
    return [{ id: contentId(id), url }]
  })
  const found = await Promise.all(
    wanted.slice(0, MAX_COUNT).map(async ({ id, url }) => {
      const uri = await pictureUri(url, token, signal)
      return uri ? ([[id, uri]] as const) : []
    }),
  )
  return new Map(found.flat())
}

async function pictureUri(
  path: string,
  token: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const response = await request(path, { token, signal })
    // The server says what a picture is: anything else comes as bytes without a kind.
    const type = response.headers.get('content-type') ?? ''
    if (!RASTER.test(type)) return undefined
    return `data:${type};base64,${base64(new Uint8Array(await response.arrayBuffer()))}`
  } catch {
    return undefined
  }
}

function base64(bytes: Uint8Array): string {
  let text = ''
  // In pieces: a function takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  }
  return btoa(text)
}

/** How a mail's parts are named, without the brackets and percent signs of either side. */
export function contentId(text: string): string {
  const bare = text.trim().replace(/^<|>$/g, '')
  try {
    return decodeURIComponent(bare)
  } catch {
    return bare
  }
}

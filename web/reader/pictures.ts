import type { Message } from '../site/api.ts'
import { request } from '../site/api-client.ts'
import { percentDecoded } from '../site/link-target.ts'

// Each picture is in memory three times: as bytes, as text and decoded.
const MAX_BYTES = 8_000_000
const MAX_COUNT = 60
const RASTER = /^image\/(?:png|jpeg|gif|webp)$/

/** Attached pictures that the HTML refers to, as data: URIs by content id. Those that cannot be loaded are left out. */
export async function picturesOf(
  { body_html: html, attachments }: Pick<Message, 'body_html' | 'attachments'>,
  token: string,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const referenced = new Set(
    [...(html ?? '').matchAll(/\bcid:([^"'\s)>]{1,400})/gi)].map(([, id = '']) => contentId(id)),
  )
  let budget = MAX_BYTES
  const wanted = attachments.flatMap(({ content_id: id, size, url }) => {
    if (id === null || !referenced.has(contentId(id)) || size > budget) return []
    budget -= size
    return [{ id: contentId(id), url }]
  })
  const loaded = await Promise.all(
    wanted.slice(0, MAX_COUNT).map(async ({ id, url }) => {
      const uri = await pictureUri(url, token, signal)
      return uri ? ([[id, uri]] as const) : []
    }),
  )
  return new Map(loaded.flat())
}

/** A raster image; undefined if it is declared as anything else or cannot be loaded. */
export async function pictureBlob(
  path: string,
  token: string,
  signal: AbortSignal,
): Promise<Blob | undefined> {
  try {
    const response = await request(path, { token, signal })
    // The server names no other image type, and never SVG.
    const type = response.headers.get('content-type') ?? ''
    return RASTER.test(type) ? new Blob([await response.arrayBuffer()], { type }) : undefined
  } catch {
    return undefined
  }
}

async function pictureUri(
  path: string,
  token: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const blob = await pictureBlob(path, token, signal)
  return blob && `data:${blob.type};base64,${base64(new Uint8Array(await blob.arrayBuffer()))}`
}

function base64(bytes: Uint8Array): string {
  let text = ''
  // In chunks, because the number of arguments is limited.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  }
  return btoa(text)
}

/** Without angle brackets and percent-encoding, so that header and cid: URL can be compared. */
export function contentId(text: string): string {
  return percentDecoded(text.trim().replace(/^<|>$/g, ''))
}

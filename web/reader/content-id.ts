/** How a mail's parts are named, without the brackets and percent signs of either side. */
export function contentId(text: string): string {
  const bare = text.trim().replace(/^<|>$/g, '')
  try {
    return decodeURIComponent(bare)
  } catch {
    return bare
  }
}

import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Fails unless all text of the page or of one part is readable on the background of this scheme. Returns the number of texts. */
export async function checkContrast(
  page: Page,
  scheme: 'light' | 'dark',
  within = 'html',
): Promise<number> {
  const script = `(${TEXT_COLOURS})(document.querySelector('${within}'))`
  const pairs = (await page.evaluate(script)) as [string, number[], number[]][]
  for (const [text, color, background] of pairs) {
    const ratio = contrast(color, background)
    expect(
      ratio,
      `${text}: ${color} on ${background} has a contrast of ${ratio}`,
    ).toBeGreaterThanOrEqual(4.5)
  }
  const background = (await page.evaluate(BACKGROUND)) as number[]
  expect(luminance(background) > 0.5).toBe(scheme === 'light')
  return pairs.length
}

/** Runs only axe's color rules, on a page that axe has fully checked: nothing else depends on the scheme. */
export async function checkColours(page: Page, within = 'html'): Promise<void> {
  const violations = await page.evaluate(`
    axe.run('${within}', { iframes: false, runOnly: ['color-contrast', 'link-in-text-block'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))
  `)
  expect(violations).toStrictEqual([])
}

/** Run in the page: the text color and background of each element with its own text. */
const TEXT_COLOURS = `
  (part) => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number)
    const known = new Map()
    const background = (element) => {
      if (!known.has(element)) {
        const own = numbers(getComputedStyle(element).backgroundColor)
        known.set(element, own.length === 3 || !element.parentElement ? own : background(element.parentElement))
      }
      return known.get(element)
    }
    return [...part.querySelectorAll('body *:not(script)')]
      .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
      .filter((element) => element.checkVisibility() && !element.disabled)
      .map((element) => [element.textContent.slice(0, 40), numbers(getComputedStyle(element).color), background(element)])
  }
`

const BACKGROUND = `getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)`

/** WCAG 2 contrast ratio: 1 for equal colors, 21 for black on white; small text needs 4.5. */
function contrast(one: number[], other: number[]): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance([red = 0, green = 0, blue = 0]: number[]): number {
  const linear = (part: number) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

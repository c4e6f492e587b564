import { readFileSync } from 'node:fs'

/** What the shop's pages run: plain JavaScript in a file of its own. It stands in the page, so its hash is in the policy. */
export const SCRIPT = readFileSync(new URL('./shop-script.js', import.meta.url), 'utf8')

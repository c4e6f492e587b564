import { type Lookup, recordsOf } from '../rules/result.ts'
import { isSpf, type SpfTree, spfTerms } from '../rules/sender-rules.ts'

// Beyond the limit of ten, only that there are more matters.
const MAX_LOOKUPS = 30

/**
 * What a receiver looks up to evaluate the record of a domain (RFC 7208 4.6.4), and what it stumbles over. Names with macros and
 * those that DNS does not answer for are not followed.
 */
export async function followSpf(
  domain: string,
  findTxt: (name: string) => Promise<Lookup<string>>,
): Promise<SpfTree> {
  const tree: SpfTree = { lookups: 0, loop: undefined, missing: undefined }

  async function follow(name: string, path: readonly string[]): Promise<void> {
    const txt = await findTxt(name)
    if ('error' in txt) return
    const records = recordsOf(txt).filter(isSpf)
    if (records.length === 0 && path.length > 0) tree.missing ??= name
    const terms = records.flatMap(spfTerms)
    tree.lookups += terms.filter(needsLookup).length
    if (tree.lookups > MAX_LOOKUPS) return
    const names = terms.flatMap(referredName)
    const known = [...path, name.toLowerCase()]
    tree.loop ??= names.find((one) => known.includes(one.toLowerCase()))
    const others = names.filter((one) => !known.includes(one.toLowerCase()) && !one.includes('%'))
    await Promise.all(others.map((one) => follow(one, known)))
  }

  await follow(domain, [])
  return tree
}

const needsLookup = (term: string) =>
  /^(?:[+?~-]?(?:include:|exists:|(?:a|mx|ptr)(?:[:/]|$))|redirect=)/i.test(term)

function referredName(term: string): string[] {
  const [, name] = /^(?:[+?~-]?include:|redirect=)(\S+)$/i.exec(term) ?? []
  return name === undefined ? [] : [name.replace(/\.$/, '')]
}

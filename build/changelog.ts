import { readFileSync } from 'node:fs'
import { ROOT } from './sources.ts'

/** CHANGELOG.md: a section for each version, newest first, below the one for what is not released yet. */
export const changelog = () => readFileSync(`${ROOT}CHANGELOG.md`, 'utf8')

/** What the changelog says about a version. With `isTrial`, it may contain changes that are not part of any version yet. */
export function releaseNotes(text: string, version: string, { isTrial = false } = {}): string {
  const sections = new Map(
    text
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const [heading = '', ...lines] = section.split('\n')
        return [heading.replace(/ \([\d-]+\)$/, ''), lines.join('\n').trim()] as const
      }),
  )
  if (sections.get('Unreleased') && !isTrial) {
    throw new Error('CHANGELOG.md has unreleased changes: give them a heading with a version')
  }
  const notes = sections.get(version)
  if (!notes) throw new Error(`CHANGELOG.md has no section for ${version}`)
  return `${notes}\n`
}

/** The date of the latest version. */
export function releaseDate(text: string): string {
  return /^## \S+ \((.*)\)$/m.exec(text)?.[1] ?? ''
}

import { existsSync, globSync, readFileSync } from 'node:fs'
import type { Plugin } from 'vite'

/** Collects the packages whose code is part of a bundle. */
export function collectPackages(folders: Set<string>): Plugin {
  return {
    name: 'collect-packages',
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        const modules = chunk.type === 'chunk' ? chunk.moduleIds : []
        for (const id of modules) {
          const [, folder] = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? []
          if (folder && existsSync(`${folder}/package.json`)) folders.add(folder)
        }
      }
    },
  }
}

const SEPARATOR = `\n\n${'-'.repeat(80)}\n\n`

/** Their licences ask to be distributed with the code. */
export function licencesOf(folders: Set<string>): string {
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
    const files = globSync('{LICEN[CS]E,licen[cs]e}*', { cwd: folder }).sort()
    const terms = files.map((file) => readFileSync(`${folder}/${file}`, 'utf8').trim())
    return [`${name} ${version} (${license})`, ...terms].join('\n\n')
  })
  return `${texts.join(SEPARATOR)}\n`
}

/** The packages of such a text, as `name version`. */
export function bundledPackages(file: string): Set<string> {
  const parts = readFileSync(file, 'utf8').split(SEPARATOR)
  return new Set(parts.map((part) => part.slice(0, part.indexOf(' ('))))
}

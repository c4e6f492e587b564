import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { corpus } from '../corpora.ts'
import { HOSTILE_HTML } from './hostile-html.ts'

/** All HTML that is known to harm somebody: DOMPurify's own cases and the families that mail programs fell to. */
export const PAYLOADS: readonly string[] = [...Object.values(HOSTILE_HTML).flat(), ...ofDompurify()]

function ofDompurify(): string[] {
  const folder = corpus('dompurify', 223)
  if (!folder) return []
  const cases: { payload: string }[] = JSON.parse(
    readFileSync(join(folder, 'payloads.json'), 'utf8'),
  )
  return cases.map(({ payload }) => payload)
}

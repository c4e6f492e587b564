import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { MAYFLY_CORPORA } = process.env
const root = MAYFLY_CORPORA ?? fileURLToPath(new URL('../../fixtures/corpora', import.meta.url))

/** The folder with third-party test cases of this name: the selection in the repository, or a larger one. */
export function corpus(name: 'dompurify' | 'isemail' | 'postal-mime' | 'stalwart'): string {
  return join(root, name)
}

import type { MailStore } from '../../store/store.ts'

export interface ReadinessDeps {
  store: Pick<MailStore, 'obstacle'>
}

/** Why we cannot do our work right now; undefined when we can. */
export async function unreadiness({ store }: ReadinessDeps): Promise<string | undefined> {
  return (await store.obstacle())?.reason
}

import type { Db } from '../files.ts'

/** Passes statements on, and records the steps of each plan, and the statements that sort. */
export function recordPlans(db: Db) {
  const plans: string[] = []
  const sorted: string[] = []
  const recordingDb = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name)
      return (sql: string) => {
        const values = [...sql.matchAll(/\?/g)].map(() => 1)
        const rows = target.prepare(`explain query plan ${sql}`).all(values) as { detail: string }[]
        plans.push(...rows.map(({ detail }) => detail))
        if (rows.some(({ detail }) => detail.includes('TEMP B-TREE'))) sorted.push(sql)
        return target.prepare(sql)
      }
    },
  })
  return { recordingDb, plans, sorted }
}

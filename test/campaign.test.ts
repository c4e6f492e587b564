import { expect, test } from 'vitest'
import type { Part } from './campaign/part.ts'
import { addBatch, doneBefore } from './campaign/results.ts'
import { renderTables, withTables } from './campaign/tables.ts'

const PLACE = { commit: '1a2b3c4d', machine: '2 cores', seconds: 90, day: '2026-01-02' }
const PART: Part = {
  name: 'crash',
  unit: 'kills',
  goal: 500,
  quickGoal: 2,
  batch: 10,
  run: () => Promise.reject(new Error('not run here')),
}

function batch(done: number, mails: number, findings: string[] = []) {
  return {
    done,
    counts: { 'acknowledged mails': mails },
    figures: { 'longest ms': mails / 10 },
    findings,
  }
}

test('batches of one commit are added up, those of another are listed beside them', () => {
  let results = addBatch({}, 'crash', batch(10, 400), PLACE)
  results = addBatch(results, 'crash', batch(10, 300, ['one is missing']), PLACE)
  results = addBatch(results, 'crash', batch(5, 1_200), { ...PLACE, commit: '5e6f7a8b' })
  expect(doneBefore(results, 'crash')).toBe(25)
  results = addBatch(results, 'power', batch(5, 600), PLACE)
  const parts = ['crash', 'power', 'soak'].map((name) => ({ ...PART, name }))
  expect(renderTables(parts, results)).toBe(`\
| Part | Done | Goal | Counted | Findings |
| --- | --- | --- | --- | --- |
| crash | 25 kills | 500 | 1,900 acknowledged mails, longest ms: 120 | 1 |
| power | 5 kills | 500 | 600 acknowledged mails, longest ms: 60 | 0 |
| soak | 0 kills | 500 | not run yet | 0 |

In all, 2,500 acknowledged mails were looked for (goal: 1,000,000).

| Part | Commit | Days | Duration | Done | Machine |
| --- | --- | --- | --- | --- | --- |
| crash | 1a2b3c4d | 2026-01-02 | 3 min | 20 | 2 cores |
| crash | 5e6f7a8b | 2026-01-02 | 2 min | 5 | 2 cores |
| power | 1a2b3c4d | 2026-01-02 | 2 min | 5 | 2 cores |
`)
})

test('the tables replace what stood at their place', () => {
  const once = withTables(
    'Before\n<!-- campaign: written by npm run campaign -->\nold\n<!-- end of campaign -->\nAfter',
    'new',
  )
  expect(once).not.toContain('old')
  expect(withTables(once, 'newer')).toBe(once.replace('new\n', 'newer\n'))
  expect(() => withTables('no place', 'new')).toThrow('no place for the tables')
})

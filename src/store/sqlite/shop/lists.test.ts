import { expect, test } from 'vitest'
import { START } from '../../../../test/kit/store/fixture.ts'
import { tempFolder } from '../../../../test/kit/store/stores.ts'
import { keyReads } from '../../../keys/store.ts'
import { webhookReads } from '../../../webhooks/read-store.ts'
import { openMigrated } from '../migrate.ts'
import { syncMethods } from '../operations.ts'
import { recordPlans } from '../testing/plans.ts'

test('the lists of the operator are read by the indexes on creation, and not sorted', () => {
  const folder = tempFolder()
  const db = openMigrated(folder.path, 'shop')
  const { recordingDb, plans, sorted } = recordPlans(db)
  const reads = syncMethods(recordingDb, { ...keyReads, ...webhookReads })
  reads.listKeys({ now: START, limit: 50 })
  reads.listAllWebhooks({ now: START, limit: 50 })
  db.close()
  folder.remove()
  expect(plans).toStrictEqual([
    'SEARCH api_key USING INDEX api_key_created ((created_at,id)<(?,?))',
    'SEARCH webhook USING INDEX webhook_created ((created_at,id)<(?,?))',
    'SEARCH api_key USING PRIMARY KEY (id=?)',
  ])
  expect(sorted).toStrictEqual([])
})

import { describe } from 'vitest'
import { busContract } from './bus.contract.ts'
import { makeWaiterCounts, openMemoryBus } from './memory.ts'

let count = 0

describe('the bus of one node', () =>
  busContract(async () => {
    count += 1
    const name = `test-${process.pid}-${count}`
    const waiters = makeWaiterCounts()
    return [openMemoryBus(name, waiters), openMemoryBus(name, waiters)]
  }))

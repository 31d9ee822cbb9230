import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../telemetry/testing/index.ts'
import { Growth, teamSize } from './growth.ts'

test('small machines begin with one worker, and the setting decides where it is set', () => {
  assert.deepEqual(teamSize(0, 1), { first: 1, most: 1 })
  assert.deepEqual(teamSize(0, 2), { first: 1, most: 2 })
  assert.deepEqual(teamSize(0, 8), { first: 8, most: 8 })
  assert.deepEqual(teamSize(3, 2), { first: 3, most: 3 })
})

function growing(loads: readonly number[]) {
  let [size, look] = [1, 0]
  const team = {
    busy: () => loads[look++] ?? 0,
    size: () => size,
    grow: async () => {
      size += 1
    },
  }
  return { growth: new Growth(team, 2, quietLog), team }
}

test('a worker is added when there is load for three looks in a row, and not beyond the most', async () => {
  const { growth, team } = growing([1, 1, 0.1, 1, 1, 1, 1, 1, 1, 1])
  for (let look = 0; look < 5; look += 1) await growth.look()
  assert.equal(team.size(), 1, 'a burst is no load')
  await growth.look()
  assert.equal(team.size(), 2)
  for (let look = 0; look < 4; look += 1) await growth.look()
  assert.equal(team.size(), 2)
})

test('one that cannot be added is tried again after further looks', async () => {
  let [tries, size] = [0, 1]
  const grow = async (): Promise<void> => {
    tries += 1
    if (tries === 1) throw new Error('no memory')
    size += 1
  }
  const growth = new Growth({ busy: () => 1, size: () => size, grow }, 2, quietLog)
  for (let look = 0; look < 6; look += 1) await growth.look()
  assert.deepEqual([tries, size], [2, 2])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClientLimiter } from './places.ts'

const overloaded = { kind: 'overloaded' }

test('one address holds a quarter of the places, all together hold all, and each is given back', async () => {
  const places = new ClientLimiter(8, 'too many')
  const ends: (() => void)[] = []
  const held: Promise<unknown>[] = []
  const hold = (address: string) =>
    held.push(places.hold(address, () => new Promise<void>((resolve) => ends.push(resolve))))
  const full = (address: string) =>
    assert.rejects(
      places.hold(address, async () => 'in'),
      overloaded,
    )
  hold('192.0.2.1')
  hold('192.0.2.1')
  await full('192.0.2.1')
  // All addresses of an IPv6 /64 are one caller.
  hold('2001:db8::1')
  hold('2001:db8::2')
  await full('2001:db8::3')
  for (const address of ['192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5']) hold(address)
  await full('192.0.2.6')
  for (const end of ends) end()
  await Promise.all(held)
  assert.equal(await places.hold('192.0.2.1', async () => 'in'), 'in')
})

test('a place is given back when what it was for fails', async () => {
  const places = new ClientLimiter(1, 'too many')
  for (const _ of [1, 2])
    await assert.rejects(
      places.hold('192.0.2.1', async () => {
        throw new Error('down')
      }),
      /down/,
    )
  assert.equal(await places.hold('192.0.2.1', async () => 'in'), 'in')
})

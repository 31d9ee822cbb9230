import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import { startKms, storeKeyAs } from '@warder/kms/testing'
import { type Seal, UnknownDataKey } from '@warder/storage'
import { createKeyRing } from './key-ring.ts'
import type { ObjectId } from './object-id.ts'

test('a key with an unknown data key can be listed, and used as soon as the data key is available', async () => {
  await using kms = await startKms()
  const { db, seal } = kms.environment
  const id = 'sealed-elsewhere' as ObjectId
  const jwk = { kty: 'oct', k: randomBytes(32).toString('base64url') }
  await storeKeyAs(kms, id, 'alice', jwk, 'A256GCM', true)
  let known = false
  const late: Seal = {
    ...seal,
    open(place, sealed) {
      if (!known) throw new UnknownDataKey('not yet')
      return seal.open(place, sealed)
    },
  }
  const keys = createKeyRing({ db, seal: late, clock: systemClock, capacity: 10, leaseMs: 60_000 })
  const early = await keys.get(id)
  assert.equal(early?.object.owner, 'alice')
  assert.throws(() => early?.held, UnknownDataKey)
  known = true
  assert.equal((await keys.get(id))?.held.shape.symmetricKeySize, 32)
  assert.equal(keys.size, 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policyToReset, resetPolicy } from '@warder/keys'
import { change, query } from '@warder/storage'
import { bothEngines } from '../testing/engines.ts'
import { type StartOptions, startKms } from '../testing/start.ts'

const rootKey = Buffer.alloc(32, 6)
const restored = { digest: 'cd'.repeat(32), madeAt: 1, restoredAt: 2 }
const config = {
  'roles.crypto_officer_users': ['ann', 'ben', 'cid'],
  'approvals.operations': ['settings', 'restore_backup'],
}
const successors = { ...config, 'roles.crypto_officer_users': ['dan', 'eva', 'fay'] }

for (const engine of await bothEngines()) {
  test(`${engine.name}: unavailable officers are replaced after a reset, which the next start records`, {
    skip: engine.skip,
  }, async () => {
    const db = await engine.open(await engine.url())
    const start = (more: StartOptions) => startKms({ db, rootKey, ...more })
    const makeKey = async (kms: Awaited<ReturnType<typeof start>>, user: string) =>
      (await kms.user(user).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).status
    await (await start({ config }))[Symbol.asyncDispose]()
    let parts: Parameters<typeof policyToReset>[0]
    {
      await using before = await start({ config, restored })
      parts = { db, seal: before.environment.seal }
      assert.equal(await makeKey(before, 'ann'), 403)
      const policy = await policyToReset(parts)
      assert.deepEqual(policy, {
        officers: ['ann', 'ben', 'cid'],
        quorum: null,
        operations: ['settings', 'restore_backup'],
        held: restored.digest,
      })
      await assert.rejects(
        start({ config: successors }),
        /requires the approval of 2 of these crypto officers: ann/,
      )
      await resetPolicy(parts, { ...policy, at: 3, by: 'root' })
      // A running service is not released when the record is gone.
      assert.equal(await makeKey(before, 'ann'), 403)
      await assert.rejects(policyToReset(parts), /nothing to reset/)
      await assert.rejects(resetPolicy(parts, { ...policy, at: 3, by: 'root' }), /reset concurrently/)
    }
    await using after = await start({ config: successors })
    const told = after.audit.map(({ operation, details }) => [operation, details?.by ?? details?.adopted])
    assert.deepEqual(told, [
      ['access.policy_reset', 'root'],
      ['access.settings_adopted', 'first'],
    ])
    assert.equal(await makeKey(after, 'dan'), 200)
    await using again = await start({ config: successors })
    assert.deepEqual(again.audit, [])
    // A record that was not made with the root key stops the start.
    const forge = query<[Uint8Array], unknown>(
      "INSERT INTO governance (id, record, version) VALUES ('reset', ?, 1)",
    )
    await db.commit([change(forge, [Buffer.from('{}')])])
    await assert.rejects(start({ config: successors }))
  })
}

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Enumeration, enumeration, integer, longInteger, structure, Tag } from '@warder/kmip-codec'
import {
  activeSince,
  aesKey,
  attributes,
  kmipClient,
  mask,
  objectType,
  uid,
} from '@warder/kmip-server/testing'
import { sealMigrations } from '@warder/storage'
import { kmsService } from '../service/service.ts'
import { type Interruptible, interruptible } from '../testing/interruptible.ts'
import { type Started, startKms } from '../testing/start.ts'
import { openTestDatabase } from '../testing/test-database.ts'

interface Interrupted extends AsyncDisposable {
  readonly kms: Started
  readonly beforeCommit: Interruptible['beforeCommit']
}

/** The service on a database in which others are faster. */
async function startInterrupted(): Promise<Interrupted> {
  const home = mkdtempSync(join(tmpdir(), 'warder-races-'))
  const own = await openTestDatabase(home, { seal: sealMigrations, kms: kmsService.migrations })
  const { db, beforeCommit } = interruptible(own.db)
  const kms = await startKms({ db })
  return {
    kms,
    beforeCommit,
    async [Symbol.asyncDispose]() {
      await kms[Symbol.asyncDispose]()
      await own.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

test('tags are not changed if the right is revoked or the key removed meanwhile', async () => {
  await using started = await startInterrupted()
  const { kms, beforeCommit } = started
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })).json
  const grant = {
    unique_identifier: kid,
    user_id: 'bob',
    operation_types: ['addattribute', 'deleteattribute'],
  }
  const path = `/v1/crypto/keys/${kid}/tags`
  assert.equal((await alice.post('/access/grant', grant)).status, 200)
  assert.equal((await bob.post(path, { tags: ['first'] })).status, 200)
  beforeCommit(() => alice.post('/access/revoke', grant))
  assert.equal((await bob.post(path, { tags: ['second'] })).status, 404)
  assert.equal((await alice.post('/access/grant', grant)).status, 200)
  beforeCommit(() => alice.post('/access/revoke', grant))
  assert.equal((await bob.del(path, { tags: ['first'] })).status, 404)
  assert.deepEqual((await alice.get(path)).json.tags, ['first'])

  const imported = (name: string) =>
    kmipClient(kms.user(name)).do('Import', [
      uid('shared'),
      objectType('SymmetricKey'),
      attributes(mask('Encrypt'), activeSince),
      aesKey(Buffer.alloc(32, 7)),
    ])
  await imported('bob')
  beforeCommit(async () => {
    assert.equal((await bob.del('/v1/crypto/keys/shared')).status, 204)
    // The identifier stays its owner's (docs/adr/identifiers-and-aliases.md).
    await assert.rejects(imported('alice'), /ObjectAlreadyExists/)
  })
  assert.equal((await bob.post('/v1/crypto/keys/shared/tags', { tags: ['mine'] })).status, 404)
  await imported('bob')
  assert.deepEqual((await bob.get('/v1/crypto/keys/shared/tags')).json.tags, [])
})

test('a key that is revoked during the reservation of its message limit does not encrypt', async () => {
  await using started = await startInterrupted()
  const { kms, beforeCommit } = started
  const alice = kms.user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  beforeCommit(() => kmipClient(alice).do('Revoke', [uid(kid), reason]))
  const answer = await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGk' })
  assert.deepEqual([answer.status, answer.json.error], [422, 'crypto_failure'])
})

test('a counted use fails if the key is disabled or ends before its count is stored', async () => {
  await using started = await startInterrupted()
  const { kms, beforeCommit } = started
  const alice = kms.user('alice')
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  for (const end of [
    (kid: string) => alice.post(`/v1/crypto/keys/${kid}/disable`, {}),
    (kid: string) => kmipClient(alice).do('Revoke', [uid(kid), reason]),
    (kid: string) => alice.del(`/v1/crypto/keys/${kid}`),
  ]) {
    const { id: kid } = await kmipClient(alice).do('Create', [
      objectType('SymmetricKey'),
      attributes(
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
        integer(Tag.CryptographicLength, 256),
        mask('Encrypt'),
        activeSince,
        structure(Tag.UsageLimits, [
          longInteger(Tag.UsageLimitsTotal, 9n),
          enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit.Object),
        ]),
      ),
    ])
    const encrypt = () => alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGk' })
    assert.equal((await encrypt()).status, 200)
    beforeCommit(() => end(kid))
    const { status, json } = await encrypt()
    assert.ok(status === 422 || status === 404, JSON.stringify(json))
    assert.equal(json.ciphertext, undefined)
  }
})

test('other requests are answered during a batch of slow verifications', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { kid, public_kid } = (await alice.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-521', alg: 'ES512' }))
    .json
  const signed = (await alice.post('/v1/crypto/sign', { kid, alg: 'ES512', data: 'aGk' })).json
  const item = { op: 'verify', ...signed, data: 'aGk', kid: public_kid }
  let done = false
  const batch = alice.post('/v1/crypto/batch', { operations: Array(300).fill(item) }).then((answer) => {
    done = true
    return answer
  })
  let answered = 0
  while (!done) {
    assert.equal((await kms.user('bob').get('/v1/crypto/keys/none')).status, 404)
    answered += 1
  }
  assert.ok(answered > 4, `${answered} answers meanwhile`)
  const { results } = (await batch).json
  assert.ok(results.every((one: { result?: { valid: boolean } }) => one.result?.valid === true))
})

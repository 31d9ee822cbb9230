import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enumeration, structure, Tag, textString } from '@warder/kmip-codec'
import { kmipClient } from '@warder/kmip-server/testing'
import type { Caller } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'
import { makeAuthorities } from './testing/pki-scene.ts'

let alice: Caller
let bob: Caller
let carol: Caller
/** Of alice; bob and carol may certify with it. */
const kms = await startSharedKms()
;[alice, bob, carol] = ['alice', 'bob', 'carol'].map((name) => kms.user(name)) as [Caller, Caller, Caller]
const authorities = await makeAuthorities(alice)
for (const user of ['bob', 'carol']) await grant(alice, authorities.issuing.id, user, 'certify')

async function grant(
  owner: Caller,
  id: string,
  user: string,
  ...operations: readonly string[]
): Promise<void> {
  const body = { unique_identifier: id, user_id: user, operation_types: operations }
  const made = await owner.post('/access/grant', body)
  assert.equal(made.status, 200, made.text)
}

async function bobs(): Promise<{ readonly id: string; readonly kid: string }> {
  const path = `/v1/pki/authorities/${authorities.issuing.id}/certificates`
  const made = await bob.post(path, { alg: 'ES256', names: ['bob.example'] })
  assert.equal(made.status, 200, made.text)
  return made.json
}

const at = (id: string, verb = '') => `/v1/pki/certificates/${id}${verb}`
const readState = async (id: string) => (await bob.get(at(id))).json.state
const reason = (code: number) =>
  structure(Tag.RevocationReason, [enumeration(Tag.RevocationReasonCode, code)])

test('the holder of a certificate cannot release a hold that the authority set', async () => {
  const { id } = await bobs()
  assert.equal((await alice.post(at(id, '/revoke'), { reason: 'certificateHold' })).status, 200)
  assert.equal((await bob.post(at(id, '/release'), {})).status, 403)
  assert.equal((await carol.post(at(id, '/release'), {})).status, 403, 'carol may certify, not revoke')
  const release = [textString(Tag.UniqueIdentifier, id), reason(0x80000002)]
  await kmipClient(bob).fails('Revoke', release, 'PermissionDenied')
  assert.equal(await readState(id), 'hold')
  // Nor does a renewal.
  assert.equal((await bob.post(at(id, '/renew'), {})).status, 409)
  const renewal = [textString(Tag.UniqueIdentifier, id)]
  await kmipClient(bob).fails('ReCertify', renewal, 'WrongKeyLifecycleState')
  assert.equal((await alice.post(at(id, '/release'), {})).status, 200)
  assert.equal(await readState(id), 'valid')
  // Who was granted it on the authority may, over KMIP as well.
  await grant(alice, authorities.issuing.id, 'bob', 'revoke')
  await kmipClient(bob).do('Revoke', [textString(Tag.UniqueIdentifier, id), reason(0x80000001)])
  assert.equal(await readState(id), 'hold')
  await kmipClient(bob).do('Revoke', release)
  assert.equal(await readState(id), 'valid')
  const body = { unique_identifier: authorities.issuing.id, user_id: 'bob', operation_types: ['revoke'] }
  await alice.post('/access/revoke', body)
})

test('the owner of a certificate, and users with the right, can replace it and set its renewal', async () => {
  const { id } = await bobs()
  const automatic = () => bob.get(at(id, '/renewal'))
  const set = await bob.call('PUT', at(id, '/renewal'), { json: { automatic: true } })
  assert.equal(set.status, 200, set.text)
  // Alice owns the authority, carol may certify with it and read its certificates.
  await grant(alice, authorities.issuing.id, 'carol', 'getattributes', 'setattribute', 'rekey')
  for (const [who, status] of [
    [alice, 403],
    [carol, 403],
  ] as const) {
    assert.equal((await who.post(at(id, '/renew'), {})).status, status)
    const off = await who.call('PUT', at(id, '/renewal'), { json: { automatic: false } })
    assert.equal(off.status, status)
  }
  await grant(bob, id, 'carol', 'getattributes')
  assert.equal((await carol.post(at(id, '/renew'), {})).status, 403)
  const { id: list } = authorities.issuing
  const listed = (await alice.get(`/v1/pki/authorities/${list}/certificates`)).json
  const entry = listed.find((each: { id: string }) => each.id === id)
  assert.deepEqual([entry.replaced_by, (await automatic()).json.automatic], [undefined, true])
  await grant(bob, id, 'carol', 'rekey')
  const renewed = await carol.post(at(id, '/renew'), {})
  assert.equal(renewed.status, 200, renewed.text)
  assert.equal((await bob.get(at(renewed.json.id))).json.owner, 'bob')
})

test('no interface renews a revoked certificate', async () => {
  const { id } = await bobs()
  assert.equal((await alice.post(at(id, '/revoke'), { reason: 'superseded' })).status, 200)
  assert.equal((await bob.post(at(id, '/renew'), {})).status, 409)
  const renewal = [textString(Tag.UniqueIdentifier, id)]
  await kmipClient(bob).fails('ReCertify', renewal, 'WrongKeyLifecycleState')
})

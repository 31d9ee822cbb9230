import assert from 'node:assert/strict'
import { ok, type Walked, type Walker } from './walked-installation.ts'

const officers = ['ann', 'ben', 'cid']

/** Settings under which officers approve the destruction of guarded keys, once a ceremony has made them officers. */
export const officerSettings = {
  KMS_ROLES_CRYPTO_OFFICER_USERS: officers.join(','),
  KMS_ROLES_CRYPTO_OFFICER_REQUIRE_CEREMONY: 'true',
  KMS_APPROVALS_OPERATIONS: 'destroy',
  KMS_APPROVALS_TAGS: 'guarded',
  KMS_APPROVALS_CREDENTIAL_WAIT: '0',
}

/** A ceremony, and requests that its officers approve and refuse. */
export async function walkOfficers({ user }: Walked): Promise<void> {
  const [ann, ben] = [await user('ann'), await user('ben')]
  const path = '/access/crypto_officer'
  await ann.post(`${path}/ceremony`)
  await ann.get(`${path}/status`)
  const { json } = await ann.get(`${path}/ceremony`)
  const shareOf = (name: string): string =>
    json.officers.find((each: { readonly user: string }) => each.user === name).share_id
  const give = (from: Walker, share: string, to: string) =>
    from.post('/access/grant', { unique_identifier: share, user_id: to, operation_types: ['get'] })
  const share_ids = [shareOf('ann'), shareOf('ben')]
  await give(ben, shareOf('ben'), 'ann')
  await ann.post(`${path}/ceremony/activate`, { share_ids })
  await give(ann, shareOf('ann'), 'ben')
  await ben.post(`${path}/ceremony/activate`, { share_ids })

  const alice = await user('alice')
  await ann.post('/access/grant', { user_id: 'alice', operation_types: ['create'] })
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['guarded'] }))
    .json
  const approvals = '/access/approvals'
  const ask = async () => (await alice.post(approvals, { operation: 'destroy', key: kid })).json
  const first = await ask()
  await alice.post(`${approvals}/${first.id}/withdraw`)
  const second = await ask()
  for (const officer of [ann, ben])
    await officer.post(`${approvals}/${second.id}/refuse`, { hash: second.hash })
  const third = await ask()
  await ann.get(approvals)
  await ann.get(`${approvals}/${third.id}`)
  await ann.post(`${approvals}/${third.id}/approve`, { hash: third.hash })
  const done = await ben.post(`${approvals}/${third.id}/approve`, { hash: third.hash })
  assert.equal(done.json.state, 'done')
  await ann.post(`${path}/disable`)
  await ok(alice.wire.get('/me'))
}

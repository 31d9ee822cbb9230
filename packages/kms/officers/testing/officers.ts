import assert from 'node:assert/strict'
import type { Answer } from '../../testing/client.ts'
import type { Started } from '../../testing/start.ts'

/** Five crypto officers, of whom three approve. */
export const officers = ['ann', 'ben', 'cid', 'dan', 'eva']

export type Node = Pick<Started, 'user'>

/** Requires a successful answer. */
export async function done(answer: Promise<Answer>) {
  const { status, text, json } = await answer
  assert.equal(status, 200, text)
  return json
}

/** Lets users create keys. */
export async function letCreate(kms: Node, ...users: readonly string[]): Promise<void> {
  for (const user_id of users)
    await done(kms.user('ann').post('/access/grant', { user_id, operation_types: ['create'] }))
}

/** A new AES key of a user, with these tags. */
export async function keyOf(kms: Node, user: string, ...tags: readonly string[]): Promise<string> {
  const { kid } = await done(kms.user(user).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' }))
  if (tags.length > 0) await done(kms.user(user).post(`/v1/crypto/keys/${kid}/tags`, { tags }))
  return kid
}

export const ask = (kms: Node, user: string, body: object) => kms.user(user).post('/access/approvals', body)

export const vote = (
  kms: Node,
  user: string,
  { id, hash }: { readonly id: string; readonly hash: string },
  way: 'approve' | 'refuse' = 'approve',
) => kms.user(user).post(`/access/approvals/${id}/${way}`, { hash })

/** A request that three officers approved. */
export async function approved(kms: Node, user: string, body: object) {
  const request = await done(ask(kms, user, body))
  for (const officer of officers.slice(0, 3)) await done(vote(kms, officer, request))
  return done(kms.user('ann').get(`/access/approvals/${request.id}`))
}

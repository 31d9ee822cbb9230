import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tag } from '@warder/kmip-codec'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import type { Started } from '../testing/start.ts'

const config = {
  'roles.crypto_officer_users': ['ann', 'ben', 'cid', 'dan', 'eva'],
  'roles.crypto_officer_require_ceremony': true,
  'approvals.operations': ['export'],
  rate_limit_per_second: 1000,
}
type Node = Pick<Started, 'user'>

async function done(answer: Promise<{ status: number; text: string; json: unknown }>) {
  const { status, text, json } = await answer
  assert.equal(status, 200, text)
  // biome-ignore lint/suspicious/noExplicitAny: what it is, the assertions say
  return json as any
}

/** An officer begins a ceremony, two others give their shares, and it is active. */
async function activated(
  near: Node,
  far: Node,
  officer: string,
  givers: readonly (readonly [string, number])[],
) {
  const { id, share_id } = await done(near.user(officer).post('/access/crypto_officer/ceremony', {}))
  const shares = givers.map(([giver, number]) => [giver, `${id}#${number}`] as const)
  for (const [giver, share] of shares) {
    const grant = { unique_identifier: share, user_id: officer, operation_types: ['get'] }
    await done(far.user(giver).post('/access/grant', grant))
  }
  const share_ids = [share_id, ...shares.map(([, share]) => share)]
  await done(near.user(officer).post('/access/crypto_officer/ceremony/activate', { share_ids }))
}

for (const engine of await bothEngines()) {
  test(`${engine.name}: three of five officers approve an export on two nodes, one of them revoked meanwhile`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine, config)
    const near: Node = nodes.near
    const far: Node = { user: nodes.onFar }
    await activated(near, far, 'ann', [
      ['ben', 2],
      ['cid', 3],
    ])
    await done(near.user('ann').post('/access/grant', { user_id: 'alice', operation_types: ['create'] }))
    const { kid } = await done(near.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' }))
    const ask = () => done(near.user('alice').post('/access/approvals', { operation: 'export', key: kid }))
    const vote = (kms: Node, user: string, { id, hash }: { id: string; hash: string }, way = 'approve') =>
      done(kms.user(user).post(`/access/approvals/${id}/${way}`, { hash }))
    const denied = (kms: Node) => kmipClient(kms.user('alice')).fails('Get', [uid(kid)], 'PermissionDenied')

    const first = await ask()
    assert.equal((await vote(far, 'ben', first, 'refuse')).state, 'open')
    assert.equal((await vote(far, 'ann', first)).state, 'open')
    assert.equal((await vote(near, 'cid', first, 'refuse')).state, 'open')
    const over = await vote(far, 'dan', first, 'refuse')
    assert.deepEqual([over.state, over.refused_by], ['refused', ['ben', 'cid', 'dan']])
    await denied(near)

    const second = await ask()
    assert.notEqual(second.hash, first.hash)
    assert.equal((await vote(far, 'ann', second)).state, 'open')
    assert.deepEqual((await vote(near, 'ben', second)).approved_by, ['ann', 'ben'])
    await done(far.user('eva').post('/access/crypto_officer/disable', { target_user: 'ann' }))
    // With that of ann these were three.
    const without = await vote(far, 'cid', second)
    assert.deepEqual([without.state, without.approved_by], ['open', ['ben', 'cid']])
    await denied(near)
    await denied(far)
    const approved = await vote(far, 'dan', second)
    assert.deepEqual([approved.state, approved.approved_by], ['approved', ['ben', 'cid', 'dan']])
    const { nodes: given } = await kmipClient(near.user('alice')).do('Get', [uid(kid)])
    assert.ok(given.some(({ tag }) => tag === Tag.SymmetricKey))
    await denied(far)
    assert.equal((await done(far.user('eva').get(`/access/approvals/${second.id}`))).state, 'done')

    const steps = (node: Started) =>
      node.audit
        .filter(({ operation }) => /^access\.(?:approvals|officers\.disable)|^kmip\.Get$/.test(operation))
        .filter(({ operation }) => operation !== 'access.approvals.get')
        .map(({ operation, principal, outcome, details }) =>
          [operation.replace('access.', ''), principal, outcome, details?.state].join(' ').trim(),
        )
    assert.deepEqual(steps(nodes.near), [
      'approvals.ask alice success',
      'approvals.refuse cid success open',
      'kmip.Get alice failure',
      'approvals.ask alice success',
      'approvals.approve ben success open',
      'kmip.Get alice failure',
      'kmip.Get alice success',
    ])
    assert.deepEqual(steps(nodes.far), [
      'approvals.refuse ben success open',
      'approvals.approve ann success open',
      'approvals.refuse dan success refused',
      'approvals.approve ann success open',
      'officers.disable eva success',
      'approvals.approve cid success open',
      'kmip.Get alice failure',
      'approvals.approve dan success approved',
      'kmip.Get alice failure',
    ])
    const asked = nodes.near.audit.filter(({ operation }) => operation === 'access.approvals.ask')
    assert.deepEqual(
      asked.map(({ object, details }) => [object, details?.hash]),
      [first, second].map(({ hash }) => [kid, hash]),
    )
  })
}

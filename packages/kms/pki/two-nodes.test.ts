import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCertificate, readCrl } from '@warder/pki'
import { createCertId, ocspRequest, readOcspResponse } from '@warder/pki/testing'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import type { Started } from '../testing/start.ts'
import { makeAuthorities, runSigning, toDer } from './testing/pki-scene.ts'

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name} share one authority: register, CRL, responder`, {
    skip: engine.skip,
    timeout: 60_000,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const { near, far } = nodes
    const alice = near.user('alice')
    const { issuing, issue } = await makeAuthorities(alice)
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const body = { alg: 'ES256', names: [`n${index}.example`] }
        return index % 2 === 0
          ? issue(body)
          : nodes.onFar('alice').post(`/v1/pki/authorities/${issuing.id}/certificates`, body)
      }),
    )
    assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([200]))
    assert.equal(new Set(made.map(({ json }) => json.serial)).size, 12)

    const [first] = made.map(({ json }) => json as { readonly id: string; readonly certificate: string })
    assert.ok(first !== undefined)
    const { subject: name, spki } = parseCertificate(toDer(issuing.certificate))
    const { serial } = parseCertificate(toDer(first.certificate))
    const request = ocspRequest([createCertId('sha256', { name, spki }, serial)])
    const status = async (node: Started) => {
      const read = readOcspResponse((await node.with({}).call('POST', '/ocsp', { bytes: request })).bytes)
      return read.error ?? read.answers[0]?.status.kind
    }
    assert.deepEqual([await status(near), await status(far)], ['good', 'good'])

    // The same certificate is taken back by both at once: one of them does it.
    const revoke = (id: string) => [
      alice.post(`/v1/pki/certificates/${id}/revoke`, { reason: 'superseded' }),
      nodes.onFar('alice').post(`/v1/pki/certificates/${id}/revoke`, { reason: 'keyCompromise' }),
    ]
    const answers = await Promise.all(made.flatMap(({ json }) => revoke(json.id)))
    assert.deepEqual(answers.map((each) => each.status).sort(), [
      ...Array(12).fill(200),
      ...Array(12).fill(409),
    ])
    assert.deepEqual([await status(near), await status(far)], ['revoked', 'revoked'])

    await Promise.all([runSigning(near), runSigning(far), runSigning(near)])
    const lists = await Promise.all(
      [near, far].map(
        async (node) => (await node.with({}).get(`/public/certificates/${issuing.id}/crl`)).bytes,
      ),
    )
    assert.deepEqual(lists[0], lists[1])
    const crl = readCrl(lists[0] ?? Buffer.alloc(0))
    assert.equal(crl.count, 12)
    // One for the beginning, one for each revocation; who signs beside another takes the next number.
    assert.ok([13n, 14n, 15n].includes(crl.number ?? 0n), String(crl.number))
    for (const { id } of made.map(({ json }) => json))
      assert.equal((await nodes.onFar('alice').get(`/v1/pki/certificates/${id}`)).json.state, 'revoked')
  })
}

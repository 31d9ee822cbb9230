import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { startAcme } from './testing/start.ts'

test('a certificate is ordered, proved, issued, downloaded, revoked', async () => {
  await using acme = await startAcme()
  const { kms, authorities } = acme
  const directory = await kms.with({}).get(`/acme/${authorities.issuing.id}/directory`)
  assert.equal(directory.status, 200)
  assert.equal(directory.json.meta.externalAccountRequired, true)
  const client = await acme.account()
  const order = await acme.readyOrder(client)
  const ready = await client.post(order, '')
  assert.equal(ready.json.status, 'ready')
  const pem = await acme.certificate(client, order)
  const [leaf, issuer] = pem.split(/(?<=-----END CERTIFICATE-----\n)/)
  const certificate = new X509Certificate(String(leaf))
  assert.equal(certificate.subjectAltName, 'DNS:localhost')
  assert.ok(certificate.verify(new X509Certificate(String(issuer)).publicKey))
  assert.equal(new X509Certificate(String(issuer)).subject, 'O=Acme\nCN=Issuing')
  const valid = await client.post(order, '')
  assert.equal(valid.json.status, 'valid')
  const revoke = { certificate: certificate.raw.toString('base64url'), reason: 4 }
  assert.equal((await client.post(client.url('revoke-cert'), revoke)).status, 200)
  const again = await client.post(client.url('revoke-cert'), revoke)
  assert.deepEqual([again.status, again.json.type], [400, 'urn:ietf:params:acme:error:alreadyRevoked'])
})

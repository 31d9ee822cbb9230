import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCertificate } from '@warder/pki'
import { createCertId, ocspRequest } from '@warder/pki/testing'
import { grant } from '../testing/client.ts'
import { type Started, startKms } from '../testing/start.ts'
import { makeAuthorities, outsider, runSigning, toDer } from './testing/pki-scene.ts'

const day = 86_400_000

async function usesOf(kms: Started, kid: string): Promise<readonly string[]> {
  await kms.services.uses.flush()
  const { json } = await kms.user('alice').get(`/v1/crypto/keys/${kid}/uses`)
  return json.uses.map(({ user, last_used: on }: { user: string; last_used: string }) => `${user} ${on}`)
}

test('signatures of an authority count as uses of its key: certificates, CRLs, responders, OCSP responses', async () => {
  const begin = Date.UTC(2026, 5, 1)
  let now = begin
  const clock = { now: () => now, monotonic: () => now }
  await using kms = await startKms({ clock, config: { ocsp_signer: 'authority' } })
  const { root, issuing } = await makeAuthorities(kms.user('alice'))
  const { kid } = issuing
  const rootKid = (await kms.user('alice').get(`/v1/pki/authorities/${root.id}`)).json.kid
  const isUnused = async (since: number) => {
    const at = new Date(since).toISOString()
    const { status, json } = await kms.user('alice').get(`/v1/crypto/keys?unused_since=${at}`)
    assert.equal(status, 200)
    return json.keys.some((each: { kid: string }) => each.kid === kid)
  }
  // Its first list is signed when it is made; of the root, by whom it was made.
  assert.deepEqual(await usesOf(kms, kid), ['warder 2026-06-01'])
  assert.deepEqual((await usesOf(kms, rootKid)).toSorted(), ['alice 2026-06-01', 'warder 2026-06-01'])

  now = begin + 3 * day
  assert.equal(await isUnused(now), true)
  const { csr } = await outsider('', ['DNS:a.example'])
  const path = `/v1/pki/authorities/${issuing.id}/certificates`
  const made = await kms.user('alice').post(path, { csr })
  assert.equal(made.status, 200, made.text)
  assert.equal(await isUnused(now), false)
  assert.ok((await usesOf(kms, kid)).includes('alice 2026-06-04'))
  await grant(kms.user('alice'), issuing.id, 'bob', 'certify')
  const bobs = await kms.user('bob').post(path, { csr })
  assert.equal(bobs.status, 200, bobs.text)
  assert.ok((await usesOf(kms, kid)).includes('bob 2026-06-04'))

  now = begin + 10 * day
  await runSigning(kms)
  assert.ok((await usesOf(kms, kid)).includes('warder 2026-06-11'), 'the list was signed again')
  now = begin + 11 * day
  const [leaf, issuer] = [made.json.certificate, issuing.certificate].map((pem: string) => toDer(pem))
  assert.ok(leaf && issuer)
  const { subject: name, spki } = parseCertificate(issuer)
  const certId = createCertId('sha1', { name, spki }, parseCertificate(leaf).serial)
  const answer = await kms.with({}).call('POST', '/ocsp', {
    bytes: ocspRequest([certId]),
    headers: { 'content-type': 'application/ocsp-request' },
  })
  assert.equal(answer.status, 200)
  assert.ok((await usesOf(kms, kid)).includes('warder 2026-06-12'), 'the key itself answers')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteString, Tag, textString } from '@warder/kmip-codec'
import { attributes, kmipClient, link, vendorAttribute } from '@warder/kmip-server/testing'
import { certificateSigner, derSequence, derTag, issueRequest } from '@warder/pki'
import { der, derObjectIdentifier } from '@warder/pki/testing'
import { query } from '@warder/storage'
import type { Answer } from '../testing/client.ts'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { startKms } from '../testing/start.ts'
import { outsider, runSigning } from './testing/pki-scene.ts'

// A revocation list counts by the name of its issuer (RFC 5280 §6.3.3 (f)): two authorities of one name could sign lists
// for each other's certificates.

const path = '/v1/pki/authorities'
const taken = /subject: is the name of another authority of this service/

function assertTaken({ status, json, text }: Answer): void {
  assert.equal(status, 400, text)
  assert.match(json.description, taken)
}

for (const engine of await bothEngines()) {
  test(`a sub-authority cannot have the name of another authority, on ${engine.name}`, {
    skip: engine.skip,
    timeout: 60_000,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const alice = nodes.near.user('alice')
    const far = nodes.onFar('alice')
    const make = async (subject: string, more: object = {}) =>
      alice.post(path, { subject, ...('kid' in more ? {} : { alg: 'ES256' }), ...more })
    const root = (await make('CN=Root')).json
    const other = (await make('CN=Other')).json
    const one = await make('CN=One, O=Acme', { issuer: root.id })
    assert.equal(one.status, 200, one.text)
    for (const subject of ['CN=One, O=Acme', 'CN=ONE, O=  acme ', 'CN=Other']) {
      assertTaken(await make(subject, { issuer: root.id }))
      assertTaken(await far.post(path, { subject, alg: 'ES256', issuer: root.id }))
    }
    assertTaken(await make('CN=One, O=Acme', { issuer: other.id }))
    assert.equal(
      (await alice.get('/access/owned')).json.length,
      9,
      'three authorities with their pairs of keys',
    )

    const renewed = await alice.post(`/v1/pki/certificates/${one.json.id}/renew`, {})
    assert.equal(renewed.status, 200, renewed.text)
    const again = await make('CN=One, O=Acme', { issuer: other.id, kid: one.json.kid })
    assert.equal(again.status, 200, again.text)

    // A name that is requested of both nodes at once is given once.
    const both = await Promise.all(
      [alice, far, alice, far].map((caller) =>
        caller.post(path, { subject: 'CN=Two', alg: 'ES256', issuer: root.id }),
      ),
    )
    assert.equal(both.filter(({ status }) => status === 200).length, 1, both.map(({ text }) => text).join())
    for (const refused of both) if (refused.status !== 200) assertTaken(refused)
  })
}

test('KMIP Certify and ReCertify refuse a sub-authority with the name of another, in any string type', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const root = (await alice.post(path, { subject: 'CN=Root', alg: 'ES256' })).json
  const one = (await alice.post(path, { subject: 'CN=One', alg: 'ES256', issuer: root.id })).json
  const client = kmipClient(alice)
  const extension = textString(Tag.AttributeValue, 'basicConstraints=critical,CA:TRUE')
  const { privateKey, spki } = await outsider('CN=x')
  const asked = async (tag: number, text: string) => {
    const value = der(tag, Buffer.from(text, tag === 0x1e ? 'utf16le' : 'utf8'))
    const subject = derSequence(der(derTag.set, derSequence(derObjectIdentifier('2.5.4.3'), value)))
    const csr = await issueRequest({ subject, spki, extensions: [] }, certificateSigner(privateKey, spki))
    return [
      byteString(Tag.CertificateRequestValue, csr),
      attributes(link('CertificateLink', root.id), vendorAttribute('example', 'x509-extension', extension)),
    ]
  }
  for (const [tag, text] of [
    [0x0c, 'One'],
    [0x13, 'ONE'],
    [0x16, ' one'],
  ] as const) {
    const answer = await client.ask('Certify', await asked(tag, text))
    assert.equal(answer.status, 'OperationFailed', text)
    assert.match(answer.message ?? '', taken)
  }
  assert.ok((await client.do('Certify', await asked(0x0c, 'Two'))).id)
  const renewed = await client.ask('ReCertify', [textString(Tag.UniqueIdentifier, one.id)])
  assert.deepEqual([renewed.status, renewed.message], ['Success', undefined])
})

test('an authority of an earlier version has its name from its next revocation list on', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const root = (await alice.post(path, { subject: 'CN=Root', alg: 'ES256' })).json
  const two = () => alice.post(path, { subject: 'CN=One', alg: 'ES256', issuer: root.id })
  assert.equal((await two()).status, 200)
  const { db } = kms.environment
  const forget = query<[], unknown>("DELETE FROM pki_issuer_hash WHERE hash LIKE 'name:%'")
  const due = query<[], unknown>('UPDATE pki_issuer SET crl_due_at = 0')
  await db.commit([
    { query: forget, params: [] },
    { query: due, params: [] },
  ])
  await runSigning(kms)
  assertTaken(await two())
})

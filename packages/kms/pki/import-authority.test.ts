import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  basicConstraints,
  issueCertificate,
  type KeyUsageName,
  keyUsage,
  nameFromText,
  readCertificate,
  readCertificateExtensions,
  readCrl,
} from '@warder/pki'
import { startSharedKms } from '../testing/start.ts'
import { certificatePem } from './pem.ts'
import { makeAuthorities, outsider, runSigning, toDer } from './testing/pki-scene.ts'

const kms = await startSharedKms({ config: { pki_public_url: 'http://pki.example' } })

async function outside(uses: readonly KeyUsageName[] | undefined) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const name = nameFromText(`CN=Outside ${uses?.join(' ')}`)
  const now = Math.floor(Date.now() / 1000) * 1000
  const extensions = [basicConstraints(true), ...(uses === undefined ? [] : [keyUsage(uses)])]
  const der = await issueCertificate(
    { subject: name, spki, notBefore: now - 60_000, notAfter: now + 30 * 86_400_000, extensions },
    { name, key: privateKey, spki, keyIdentifier: undefined },
  )
  return { certificate: certificatePem(der), key: privateKey.export({ format: 'jwk' }) }
}

const alice = () => kms.user('alice')
const create = (json: object) => alice().post('/v1/pki/authorities', json)
const owned = async () => (await alice().get('/access/owned')).json.length

test('an authority without cRLSign serves no CRL, and the error says so', async () => {
  const made = await create(await outside(['keyCertSign', 'digitalSignature']))
  assert.equal(made.status, 200, made.text)
  assert.deepEqual([made.json.signs_crl, made.json.crl_url], [false, undefined])
  assert.equal(made.json.ocsp_url, 'http://pki.example/ocsp')
  const { id } = made.json
  const shown = (await alice().get(`/v1/pki/authorities/${id}`)).json
  assert.deepEqual([shown.signs_crl, shown.crl], [false, undefined])
  const path = `/v1/pki/authorities/${id}/certificates`
  const leaf = await alice().post(path, { alg: 'ES256', names: ['a.example'], days: 5 })
  assert.equal(leaf.status, 200, leaf.text)
  const identifiers = readCertificateExtensions(toDer(leaf.json.certificate)).map(
    ({ identifier }) => identifier,
  )
  assert.deepEqual(
    ['2.5.29.31', '1.3.6.1.5.5.7.1.1'].map((each) => identifiers.includes(each)),
    [false, true],
  )
  assert.ok(readCertificate(toDer(leaf.json.certificate)))
  assert.equal((await alice().post(`/v1/pki/certificates/${leaf.json.id}/revoke`, {})).status, 200)
  await runSigning(kms)
  await runSigning(kms)
  const list = await kms.with({}).get(`/public/certificates/${id}/crl`)
  assert.equal(list.status, 404)
  assert.match(list.json.description, /cRLSign, RFC 5280 §6\.3\.3/)
  assert.equal(kms.log.filter((line) => line.includes('cannot be signed now')).length, 0)
})

test('an authority with cRLSign, or without a key usage extension, serves its CRL', async () => {
  for (const uses of [['keyCertSign', 'cRLSign'], undefined] as const) {
    const made = await create(await outside(uses))
    assert.deepEqual([made.status, made.json.signs_crl], [200, true], made.text)
    const list = await kms.with({}).get(`/public/certificates/${made.json.id}/crl`)
    assert.ok(readCrl(list.bytes))
  }
})

test('an import accepts a certificate as DER in base64', async () => {
  const { certificate, key } = await outside(['keyCertSign', 'cRLSign'])
  const made = await create({ certificate: toDer(certificate).toString('base64'), key })
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(toDer(made.json.certificate), toDer(certificate))
})

test('a failed import stores nothing, not even its key', async () => {
  const count = await owned()
  const [one, other] = [await outside(['keyCertSign', 'cRLSign']), await outside(['keyCertSign', 'cRLSign'])]
  for (const json of [
    { certificate: one.certificate, key: other.key },
    { certificate: 'none', key: one.key },
    { key: one.key },
    { certificate: one.certificate, key: one.key, kid: 'x' },
    { certificate: one.certificate },
    { certificate: one.certificate, key: { kty: 'oct', alg: 'A256GCM', k: 'A'.repeat(43) } },
    { certificate: one.certificate, key: { kty: 'EC', crv: 'P-256', alg: 'ES256' } },
    { certificate: one.certificate, key: { kty: 'ABE', access_structure: {} } },
    { ...one, subject: 'CN=x' },
  ]) {
    const refused = await create(json)
    assert.equal(refused.status, 400, refused.text)
    assert.equal(await owned(), count)
  }
  assert.equal((await create(one)).status, 200)
  assert.equal(await owned(), count + 2)
})

test('certificates and requests are read after a byte order mark and other text, and with CRLF', async () => {
  const { certificate, key } = await outside(['keyCertSign', 'cRLSign'])
  const { csr, publicKey } = await outsider('CN=a.example', ['DNS:a.example'])
  const forms = [
    (pem: string) => `\ufeff${pem}`,
    (pem: string) => `subject=CN=x\nissuer=CN=y\n${pem}`,
    (pem: string) => `\ufeff# a note\r\n${pem.replaceAll('\n', '\r\n')}\r\n`,
  ]
  for (const form of forms) {
    const made = await create({ certificate: form(certificate), key })
    assert.equal(made.status, 200, made.text)
    const path = `/v1/pki/authorities/${made.json.id}/certificates`
    for (const json of [{ csr: form(csr) }, { public_key: form(publicKey), names: ['a.example'] }]) {
      const issued = await alice().post(path, { ...json, days: 5 })
      assert.equal(issued.status, 200, issued.text)
    }
  }
})

test('authorities name those of this service that issued them, with what they published and issued', async () => {
  const carol = kms.user('carol')
  const path = '/v1/pki/authorities'
  const list = async () => {
    const { status, text, json } = await carol.get(path)
    assert.equal(status, 200, text)
    return new Map<string, Record<string, unknown>>(json.map((each: { id: string }) => [each.id, each]))
  }
  const { root, issuing, issue } = await makeAuthorities(carol)
  assert.equal((await issue({ alg: 'ES256', names: ['a.example'], days: 5 })).status, 200)
  await runSigning(kms)
  const own = await list()
  assert.deepEqual([own.get(root.id)?.issuer, own.get(issuing.id)?.issuer], [null, root.id])
  assert.deepEqual(
    [own.get(root.id)?.issuer_name, own.get(issuing.id)?.issuer_name],
    Array(2).fill('CN=Root,O=Acme'),
  )
  const shown = own.get(issuing.id)
  const fingerprint = createHash('sha256').update(toDer(issuing.certificate)).digest('hex')
  assert.equal(shown?.fingerprint, fingerprint)
  assert.equal(shown?.ocsp_url, 'http://pki.example/ocsp')
  const issued = (await carol.get(`${path}/${issuing.id}/certificates`)).json
  assert.equal(shown?.unexpired, issued.length)
  const { certificate: _, chain, ...one } = (await carol.get(`${path}/${issuing.id}`)).json
  assert.deepEqual(one, shown)
  assert.equal((one.crl as { readonly number?: unknown }).number, 1)
  assert.ok(chain.includes('BEGIN CERTIFICATE'))

  const { above, below } = await outsidePair()
  const first = await carol.post(path, { certificate: below.certificate + above.certificate, key: below.key })
  assert.equal(first.status, 200, first.text)
  assert.equal((await list()).get(first.json.id)?.issuer, null)
  const second = await carol.post(path, above)
  assert.equal(second.status, 200, second.text)
  assert.equal((await list()).get(first.json.id)?.issuer, second.json.id)
})

/** A root authority of another service, and one below it. */
async function outsidePair() {
  const now = Math.floor(Date.now() / 1000) * 1000
  const pairs = ['Above', 'Below'].map((each) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const spki = publicKey.export({ format: 'der', type: 'spki' })
    return { privateKey, spki, name: nameFromText(`CN=Outside ${each}`) }
  })
  const [above, below] = await Promise.all(
    pairs.map(async ({ privateKey, spki, name: subject }) => {
      const [issuer = assert.fail()] = pairs
      const der = await issueCertificate(
        {
          ...{ subject, spki, notBefore: now - 60_000, notAfter: now + 30 * 86_400_000 },
          extensions: [basicConstraints(true), keyUsage(['keyCertSign', 'cRLSign'])],
        },
        { name: issuer.name, key: issuer.privateKey, spki: issuer.spki, keyIdentifier: undefined },
      )
      return { certificate: certificatePem(der), key: privateKey.export({ format: 'jwk' }) }
    }),
  )
  return { above: above ?? assert.fail(), below: below ?? assert.fail() }
}

import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, type KeyObject, verify, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { algorithms, softwareKey } from '@warder/crypto'
import { issueCertificate, nameFromText } from '@warder/pki'
import { createSigner } from './authority.ts'

const policy = { fips: false }
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const pairs: Readonly<Record<string, KeyObject>> = {
  RSA: rsa,
  ES256: ec('P-256'),
  ES384: ec('P-384'),
  ES512: ec('P-521'),
  ES256K: ec('secp256k1'),
  EC: ec('P-256'),
  ...Object.fromEntries(
    (['Ed25519', 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87'] as const).map((type) => [
      type,
      generateKeyPairSync(type.toLowerCase() as 'ed25519').privateKey,
    ]),
  ),
}

/** A certificate that the key signs for itself as one that is bound to this algorithm. */
async function selfSign(key: KeyObject, boundAlg: string | undefined): Promise<X509Certificate> {
  const name = nameFromText('CN=issuer')
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const period = { notBefore: Date.now(), notAfter: Date.now() + 1000 }
  const issuer = {
    name,
    spki,
    keyIdentifier: undefined,
    key: createSigner(softwareKey(key), policy, boundAlg),
  }
  return new X509Certificate(
    await issueCertificate({ subject: name, spki, extensions: [], ...period }, issuer),
  )
}

for (const [alg, { use, material }] of Object.entries(algorithms)) {
  const key = pairs[alg] ?? pairs[material]
  if (key === undefined) continue
  if (use !== 'signature') {
    test(`a key that is bound to ${alg} signs no certificates`, async () => {
      await assert.rejects(selfSign(key, alg), {
        kind: 'crypto_failure',
        message: new RegExp(`bound to ${RegExp.escape(alg)}`),
      })
    })
    continue
  }
  test(`a key that is bound to ${alg} signs certificates with this algorithm`, async () => {
    const certificate = await selfSign(key, alg)
    assert.ok(certificate.verify(createPublicKey(key)))
    if (material !== 'RSA') return
    const bits = alg.slice(2)
    const expected = alg.startsWith('PS') ? 'rsassaPss' : `sha${bits}WithRSAEncryption`
    assert.equal((certificate as unknown as { signatureAlgorithm: string }).signatureAlgorithm, expected)
  })
}

test('an RSA key that is bound to nothing signs with PKCS#1 v1.5 and SHA-256', async () => {
  const signer = createSigner(softwareKey(rsa), policy, undefined)
  const data = Buffer.from('certificate')
  assert.ok(verify('sha256', data, createPublicKey(rsa), await signer.sign(data)))
  assert.ok((await selfSign(rsa, undefined)).verify(createPublicKey(rsa)))
})

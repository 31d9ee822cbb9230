import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseMaterial, publicFromPrivate } from '../testing/material.ts'
import { generateKey } from './generate-key.ts'
import { type KeyMaterial, type MaterialDescriptor, serializeMaterial } from './material.ts'

const refusal = { kind: 'internal_error' }
const all: KeyMaterial[] = []
for (const spec of [
  { algorithm: 'AES', alg: 'A256GCM', bits: 256 },
  { algorithm: 'HMAC', alg: 'HS256', bits: 256 },
  { algorithm: 'RSA', alg: undefined, bits: 2048 },
  { algorithm: 'EC', alg: undefined, curve: 'P-256' },
  { algorithm: 'EC', alg: undefined, curve: 'P-384' },
  { algorithm: 'EC', alg: undefined, curve: 'P-521' },
  { algorithm: 'Ed25519', alg: undefined },
  { algorithm: 'ML-DSA-44', alg: undefined },
] as const) {
  const made = await generateKey(spec)
  all.push(...('secret' in made ? [made.secret] : [made.private, made.public]))
}
const describe = ({ key: _key, ...descriptor }: KeyMaterial): MaterialDescriptor => descriptor

test('every type of key round-trips through storage', () => {
  for (const material of all) {
    const again = parseMaterial(describe(material), serializeMaterial(material))
    assert.ok(again.key.equals(material.key))
    assert.deepEqual(describe(again), describe(material))
  }
})

test('the stored bytes of one key do not load under the description of another', () => {
  for (const material of all) {
    for (const other of all) {
      const descriptor = describe(other)
      const symmetric = material.kind === 'secret' && other.kind === 'secret'
      if (other === material || symmetric) continue
      assert.throws(() => parseMaterial(descriptor, serializeMaterial(material)), refusal)
    }
  }
})

test('another size, curve or kind in the description is refused', () => {
  for (const material of all) {
    const bytes = serializeMaterial(material)
    const { kind, algorithm } = material
    const changes: Partial<MaterialDescriptor>[] = [{ algorithm: 'constructor' as never }]
    if (['AES', 'HMAC', 'RSA', 'EC'].includes(algorithm))
      changes.push(...[0, -1, 1, 128, 1024, 3072, 4096, Number.NaN].map((bits) => ({ bits })))
    if (algorithm === 'EC') {
      for (const curve of ['P-256', 'P-384', 'P-521', '', '__proto__', 'secp256k1'])
        if (curve !== material.curve) changes.push({ curve })
    }
    for (const other of ['private', 'public'] as const) if (other !== kind) changes.push({ kind: other })
    for (const change of changes)
      assert.throws(() => parseMaterial({ ...describe(material), ...change }, bytes), refusal)
  }
  const { curve: _curve, ...bare } = describe(all.find(({ algorithm }) => algorithm === 'EC') as KeyMaterial)
  assert.throws(
    () =>
      parseMaterial(bare, serializeMaterial(all.find(({ algorithm }) => algorithm === 'EC') as KeyMaterial)),
    refusal,
  )
})

test('stored keys of types that Warder does not create are refused', () => {
  const der = { format: 'der', type: 'spki' } as const
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export(der)
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey.export(der)
  for (const bytes of [weak, pss])
    assert.throws(() => parseMaterial({ kind: 'public', algorithm: 'RSA', bits: 2048 }, bytes), refusal)
  const koblitz = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export(der)
  assert.throws(
    () => parseMaterial({ kind: 'public', algorithm: 'EC', bits: 256, curve: 'P-256' }, koblitz),
    refusal,
  )
})

test('damaged bytes get internal_error, and the error quotes none of them', () => {
  fc.assert(
    fc.property(fc.nat(all.length - 1), fc.nat(), fc.uint8Array({ maxLength: 20 }), (which, cut, tail) => {
      const material = all[which] as KeyMaterial
      const bytes = serializeMaterial(material)
      const damaged = Buffer.concat([bytes.subarray(0, cut % bytes.length), tail])
      try {
        parseMaterial(describe(material), damaged)
      } catch (error) {
        assert.equal((error as { kind?: string }).kind, 'internal_error')
        assert.equal((error as Error).cause, undefined)
      }
    }),
  )
})

test('only a private key has a public key', () => {
  for (const material of all) {
    if (material.kind === 'private') assert.equal(publicFromPrivate(material).kind, 'public')
    else assert.throws(() => publicFromPrivate(material), { kind: 'crypto_failure' })
  }
})

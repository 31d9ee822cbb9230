import assert from 'node:assert/strict'
import {
  createCipheriv,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  scryptSync,
} from 'node:crypto'
import { test } from 'node:test'
import { structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import { derSequence } from '@warder/pki'
import { der, derNumber, derObjectIdentifier, derOctets, legacyFile } from '@warder/pki/testing'
import { activeSince, inside, keyBlock, mask, wanted } from '../../testing/keys.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { passwordObject } from '../../testing/requests.ts'
import { link } from './replacement.ts'

// Private keys under a password.

const { bob, alice } = await startKmipFixture()

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

async function password(text: string, ...given: readonly TtlvNode[]): Promise<TtlvNode> {
  const { id } = await alice.do('Register', [
    objectType('SecretData'),
    attributes(mask(), ...given),
    passwordObject(text),
  ])
  return link('PKCS_12PasswordLink', id)
}

const keyOf = (der: Uint8Array, format: 'PKCS_8' | 'PKCS_12', ...given: readonly TtlvNode[]) => [
  objectType('PrivateKey'),
  attributes(mask('Sign'), activeSince, ...given),
  structure(Tag.PrivateKey, [keyBlock(format, der)]),
]

const inClear = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'pkcs8' })

const encrypted = (cipher: string, passphrase: string) =>
  privateKey.export({ format: 'der', type: 'pkcs8', cipher, passphrase })

/** EncryptedPrivateKeyInfo by PBES2 with AES-256-CBC (RFC 8018 §6.2). */
function pbes2(derivation: Buffer, key: Uint8Array, pkcs8 = inClear(privateKey)): Buffer {
  const iv = randomBytes(16)
  const cipher = createCipheriv('aes-256-cbc', key, iv)
  const content = [cipher.update(pkcs8), cipher.final()]
  const encryption = derSequence(derObjectIdentifier('2.16.840.1.101.3.4.1.42'), derOctets(iv))
  const scheme = derSequence(
    derObjectIdentifier('1.2.840.113549.1.5.13'),
    derSequence(derivation, encryption),
  )
  return derSequence(scheme, derOctets(Buffer.concat(content)))
}

/** RFC 7914 §7.1. @param make false: only the parameters are so, the key is random */
function encryptWithScrypt(
  passphrase: string,
  [N, r, p]: readonly [number, number, number],
  make = true,
  pkcs8 = inClear(privateKey),
): Buffer {
  const salt = randomBytes(16)
  const key = make ? scryptSync(passphrase, salt, 32, { N, r, p, maxmem: 2 ** 28 }) : randomBytes(32)
  const parameters = derSequence(derOctets(salt), derNumber(N), derNumber(r), derNumber(p))
  return pbes2(derSequence(derObjectIdentifier('1.3.6.1.4.1.11591.4.11'), parameters), key, pkcs8)
}

test('Register and Import decrypt encrypted PKCS#8 with the linked password', async () => {
  const linked = await password('pässwörd', activeSince)
  for (const der of [
    encrypted('aes-256-cbc', 'pässwörd'),
    encrypted('aes-128-cbc', 'pässwörd'),
    encrypted('des-ede3-cbc', 'pässwörd'),
    encryptWithScrypt('pässwörd', [16_384, 8, 1]),
  ]) {
    for (const operation of ['Register', 'Import'] as const) {
      const { id } = await alice.do(operation, keyOf(der, 'PKCS_8', linked))
      const { nodes } = await alice.do('Get', [uid(id), wanted('PKCS_8')])
      const value = inside(nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value as Uint8Array
      const got = createPrivateKey({ key: Buffer.from(value), format: 'der', type: 'pkcs8' })
      assert.ok(got.equals(privateKey))
    }
  }
})

test('encrypted PKCS#8 with a wrong or missing password gets BadPassword, and nothing is stored', async () => {
  const der = encrypted('aes-256-cbc', 'secret')
  const located = async () => (await alice.do('Locate', [attributes(objectType('PrivateKey'))])).nodes.length
  const before = await located()
  for (const operation of ['Register', 'Import'] as const) {
    await alice.fails(operation, keyOf(der, 'PKCS_8'), 'BadPassword')
    const wrong = keyOf(der, 'PKCS_8', await password('Secret', activeSince))
    await alice.fails(operation, wrong, 'BadPassword')
  }
  assert.equal(await located(), before)
})

/** OneAsymmetricKey of version 2 (RFC 5958 §2): an Ed25519 key with a public key beside it. */
function withPublicHalf(seed: KeyObject, half: KeyObject): Buffer {
  const raw = (key: KeyObject, member: 'd' | 'x') =>
    Buffer.from(String(key.export({ format: 'jwk' })[member]), 'base64url')
  return derSequence(
    derNumber(1),
    derSequence(derObjectIdentifier('1.3.101.112')),
    derOctets(derOctets(raw(seed, 'd'))),
    der(0x81, Buffer.from([0]), raw(half, 'x')),
  )
}

test("PKCS#8 of version 2 with another key's public key is refused, in clear and encrypted, and nothing is stored", async () => {
  const [one, other] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]
  const linked = await password('secret', activeSince)
  const located = async () => (await alice.do('Locate', [attributes(objectType('PrivateKey'))])).nodes.length
  const numbers = [16_384, 8, 1] as const
  for (const operation of ['Register', 'Import'] as const) {
    for (const own of [inClear(one), withPublicHalf(one, one)])
      for (const file of [
        keyOf(own, 'PKCS_8'),
        keyOf(encryptWithScrypt('secret', numbers, true, own), 'PKCS_8', linked),
      ]) {
        const { id } = await alice.do(operation, file)
        const { nodes } = await alice.do('Get', [uid(id), wanted('PKCS_8')])
        const value = inside(nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value as Uint8Array
        assert.ok(createPrivateKey({ key: Buffer.from(value), format: 'der', type: 'pkcs8' }).equals(one))
      }
    const before = await located()
    const foreign = withPublicHalf(one, other)
    for (const file of [
      keyOf(foreign, 'PKCS_8'),
      keyOf(encryptWithScrypt('secret', numbers, true, foreign), 'PKCS_8', linked),
    ])
      assert.match(
        await alice.fails(operation, file, 'InvalidField'),
        /The public key in the PKCS#8 key does not match the private key/,
      )
    assert.equal(await located(), before)
  }
})

test('a password that is not Active gets BadPassword', async () => {
  const der = encrypted('aes-256-cbc', 'secret')
  const preActive = await password('secret')
  const deactivated = await password('secret', activeSince, {
    tag: Tag.DeactivationDate,
    type: 'DateTime',
    value: 2000,
  })
  for (const linked of [preActive, deactivated]) {
    const sentence = await alice.fails('Register', keyOf(der, 'PKCS_8', linked), 'BadPassword')
    assert.equal(sentence, 'The secret data of the PKCS#12 password link is not Active.')
    await alice.fails('Register', keyOf(legacyFile, 'PKCS_12', linked), 'BadPassword')
  }
  const { id } = await alice.do(
    'Register',
    keyOf(legacyFile, 'PKCS_12', await password('secret', activeSince)),
  )
  await alice.do('Get', [uid(id), wanted('PKCS_12')])
})

test("another user's password is not found, and an excessive iteration count is refused", async () => {
  const linked = await password('secret', activeSince)
  await bob.fails('Register', keyOf(encrypted('aes-256-cbc', 'secret'), 'PKCS_8', linked), 'ObjectNotFound')
  for (const numbers of [
    [2 ** 17, 8, 1],
    [2 ** 14, 8, 64],
    [2 ** 30, 1, 1],
    [2 ** 16, 1, 1],
    [3, 8, 1],
    [0, 8, 1],
    [2 ** 14, 0, 1],
  ] as const) {
    const der = encryptWithScrypt('secret', numbers, false)
    await alice.fails('Register', keyOf(der, 'PKCS_8', linked), 'InvalidField')
  }
  for (const iterations of [0, 1_000_001, 2 ** 32 - 1]) {
    const parameters = derSequence(derOctets(randomBytes(16)), derNumber(iterations))
    const der = pbes2(derSequence(derObjectIdentifier('1.2.840.113549.1.5.12'), parameters), randomBytes(32))
    await alice.fails('Register', keyOf(der, 'PKCS_8', linked), 'InvalidField')
  }
})

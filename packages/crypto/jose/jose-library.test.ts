import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { FlattenedEncrypt, FlattenedSign, flattenedDecrypt, flattenedVerify } from 'jose'
import { algorithmFor } from '../algorithms/algorithms.ts'
import { toDescribedKey } from '../backend/software.ts'
import { hmacCompute } from '../mac.ts'
import { generateKey } from '../material/generate-key.ts'
import { toKeySpec } from '../material/key-request.ts'
import type { KeyMaterial } from '../material/material.ts'
import { decodeBase64Url, encodeBase64Url } from './base64url.ts'
import {
  ContentKeys,
  type FlattenedJwe,
  jweDecryptDirect,
  jweDecryptOaep,
  jweEncryptDirect,
  jweEncryptOaep,
  openNow,
} from './jwe-flattened.ts'
import { jwsSign, jwsVerify } from './jws-detached.ts'
import { hmacVerify, seal, signed } from './testing/jose-samples.ts'

const policy = { fips: false }
const encs = ['A128GCM', 'A192GCM', 'A256GCM'] as const
const signatures = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

const secretOf = async (alg: string): Promise<KeyMaterial> => {
  const made = await generateKey(toKeySpec({ kty: 'oct', alg }, policy))
  assert.ok('secret' in made)
  return made.secret
}
const pairOf = async (alg: string) => {
  const kty = alg === 'EdDSA' ? 'OKP' : alg === 'MLDSA44' ? 'AKP' : alg.startsWith('ES') ? 'EC' : 'RSA'
  const made = await generateKey(toKeySpec({ kty, alg, crv: curves[alg] }, policy))
  assert.ok('private' in made)
  return made
}
const rsa = await pairOf('RS256')

/** Plaintexts and additional data of every kind of length, none too. */
const content = () =>
  fc.record({
    plaintext: fc.uint8Array({ maxLength: 200 }),
    aad: fc.option(fc.uint8Array({ maxLength: 50 }), { nil: undefined }),
  })

interface Cipher {
  readonly alg: string
  readonly enc: (typeof encs)[number]
  seal(plaintext: Uint8Array, aad: string | undefined): FlattenedJwe
  open(jwe: FlattenedJwe): Promise<Buffer>
  /** Keys for the other library. */
  readonly theirs: { readonly encrypt: KeyObject; readonly decrypt: KeyObject }
}

async function cipherOf(alg: string, enc: (typeof encs)[number]): Promise<Cipher> {
  const encryption = algorithmFor('content encryption', enc, policy)
  const named = { name: enc, encryption }
  const bytes = ({ protected: header, iv, ciphertext, tag, aad }: FlattenedJwe) => ({
    protected: header,
    iv: decodeBase64Url(iv, 'iv'),
    ciphertext: decodeBase64Url(ciphertext, 'ciphertext'),
    tag: decodeBase64Url(tag, 'tag'),
    aad,
  })
  if (alg === 'dir') {
    const material = await secretOf(enc)
    return {
      alg,
      enc,
      seal: (plaintext, aad) => jweEncryptDirect(seal, toDescribedKey(material), 'k', named, plaintext, aad),
      open: async (jwe) => jweDecryptDirect(openNow, toDescribedKey(material), encryption, bytes(jwe)),
      theirs: { encrypt: material.key, decrypt: material.key },
    }
  }
  const algorithm = algorithmFor('key management', alg, policy)
  return {
    alg,
    enc,
    seal: (plaintext, aad) =>
      jweEncryptOaep(seal, rsa.public, 'k', { name: alg, algorithm }, named, plaintext, aad),
    open: async (jwe) =>
      jweDecryptOaep(
        openNow,
        new ContentKeys(1),
        toDescribedKey(rsa.private),
        algorithm,
        encryption,
        decodeBase64Url(jwe.encrypted_key, 'encrypted_key'),
        bytes(jwe),
      ),
    theirs: { encrypt: rsa.public.key, decrypt: rsa.private.key },
  }
}

const ciphers = await Promise.all(
  ['dir', 'RSA-OAEP', 'RSA-OAEP-256'].flatMap((alg) => encs.map((enc) => cipherOf(alg, enc))),
)

/** Flips a bit that one character of base64url text holds, so that the text stays strict. */
function flipped<Text extends string>(text: Text, at: number, bit: number): Text {
  const bytes = decodeBase64Url(text, 'text')
  const where = at % bytes.length
  bytes.writeUInt8(bytes.readUInt8(where) ^ (1 << bit), where)
  return encodeBase64Url(bytes) as string as Text
}

for (const cipher of ciphers) {
  const { alg, enc, seal, open, theirs } = cipher

  test(`${alg} ${enc}: this code and the jose library decrypt each other's messages`, async () => {
    await fc.assert(
      fc.asyncProperty(content(), async ({ plaintext, aad }) => {
        const text = aad === undefined ? undefined : encodeBase64Url(aad)
        const ours = seal(plaintext, text)
        assert.deepEqual(new Uint8Array(await open(ours)), plaintext)
        const { encrypted_key, ...rest } = ours
        const theirForm = encrypted_key === '' ? rest : ours
        // RFC 7516 §7.2.1: an empty aad is none.
        assert.equal('aad' in ours, aad !== undefined && aad.length > 0)
        const read = await flattenedDecrypt(theirForm, theirs.decrypt)
        assert.deepEqual(new Uint8Array(read.plaintext), plaintext)
        assert.deepEqual(read.protectedHeader, { alg, enc, kid: 'k' })

        const encrypting = new FlattenedEncrypt(plaintext).setProtectedHeader({ alg, enc, kid: 'k' })
        if (aad !== undefined && aad.length > 0) encrypting.setAdditionalAuthenticatedData(aad)
        const made = await encrypting.encrypt(theirs.encrypt)
        const asOurs = { encrypted_key: '', ...made } as unknown as FlattenedJwe
        assert.deepEqual(new Uint8Array(await open(asOurs)), plaintext)
      }),
      { numRuns: 15 },
    )
  })

  test(`${alg} ${enc}: a changed bit in any member gets decryption_failed`, async () => {
    const members = ['protected', 'iv', 'ciphertext', 'tag', 'aad', 'encrypted_key'] as const
    const present = members.filter((name) => name !== 'encrypted_key' || alg !== 'dir')
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 100 }),
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        fc.constantFrom(...present),
        fc.nat(),
        fc.nat(7),
        async (plaintext, aad, member, at, bit) => {
          const jwe = seal(plaintext, encodeBase64Url(aad))
          const changed = { ...jwe, [member]: flipped(jwe[member] as string, at, bit) }
          await assert.rejects(open(changed), { kind: 'decryption_failed' })
        },
      ),
      { numRuns: 40 },
    )
  })

  test(`${alg} ${enc}: truncated, extended, moved and missing members get decryption_failed`, async () => {
    const jwe = seal(Buffer.from('some plaintext'), 'YWFk')
    const other = seal(Buffer.from('some plaintext'), 'YWFk')
    const { aad: _aad, ...withoutAad } = jwe
    const wrong: FlattenedJwe[] = [withoutAad, { ...jwe, aad: '' }, { ...jwe, aad: 'YWFkYWFk' }]
    for (const member of ['iv', 'ciphertext', 'tag'] as const) {
      const bytes = decodeBase64Url(jwe[member], member)
      for (const changed of [
        bytes.subarray(1),
        bytes.subarray(0, -1),
        Buffer.concat([bytes, Buffer.alloc(1)]),
        Buffer.alloc(0),
        decodeBase64Url(other[member], member),
      ])
        wrong.push({ ...jwe, [member]: encodeBase64Url(changed) })
    }
    for (const one of wrong) await assert.rejects(open(one), { kind: 'decryption_failed' })
    const joined = { ...withoutAad, protected: `${jwe.protected}.YWFk` as FlattenedJwe['protected'] }
    // The same additional data by RFC 7516: the strict header reader refuses the header's dot.
    assert.equal((await open(joined)).toString(), 'some plaintext')
  })
}

test('two encryptions of one plaintext share neither iv, nor ciphertext, nor wrapped key', () => {
  for (const { alg, seal } of ciphers) {
    const [one, two] = [seal(Buffer.alloc(32), undefined), seal(Buffer.alloc(32), undefined)]
    for (const member of ['iv', 'ciphertext', 'tag'] as const) assert.notEqual(one[member], two[member])
    assert.equal(one.encrypted_key === two.encrypted_key, alg === 'dir')
  }
})

test('a key of another size or type than enc or alg requires gets crypto_failure', async () => {
  const needs = (act: () => unknown) => assert.throws(act, { kind: 'crypto_failure' })
  const sealed = {
    protected: 'e30',
    iv: Buffer.alloc(12),
    ciphertext: Buffer.alloc(1),
    tag: Buffer.alloc(16),
    aad: undefined,
  }
  const hmacKey = await secretOf('HS256')
  for (const enc of encs) {
    const encryption = algorithmFor('content encryption', enc, policy)
    const named = { name: enc, encryption }
    for (const material of [
      await secretOf(enc === 'A128GCM' ? 'A256GCM' : 'A128GCM'),
      hmacKey,
      rsa.private,
    ]) {
      needs(() => jweEncryptDirect(seal, toDescribedKey(material), 'k', named, Buffer.alloc(1), undefined))
      needs(() => jweDecryptDirect(openNow, toDescribedKey(material), encryption, sealed))
    }
    const ec = await pairOf('ES256')
    const algorithm = algorithmFor('key management', 'RSA-OAEP', policy)
    needs(() =>
      jweEncryptOaep(
        seal,
        ec.public,
        'k',
        { name: 'RSA-OAEP', algorithm },
        named,
        Buffer.alloc(1),
        undefined,
      ),
    )
    for (const material of [ec.private, rsa.public, hmacKey])
      needs(() =>
        jweDecryptOaep(
          openNow,
          new ContentKeys(1),
          toDescribedKey(material),
          algorithm,
          encryption,
          Buffer.alloc(256),
          sealed,
        ),
      )
  }
})

for (const alg of signatures) {
  test(`${alg}: signatures verify here and in the jose library, and not with one changed bit`, async () => {
    const pair = await pairOf(alg)
    const algorithm = algorithmFor('signature', alg, policy)
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), fc.nat(), fc.nat(7), async (payload, at, bit) => {
        const data = encodeBase64Url(payload)
        const ours = await jwsSign(toDescribedKey(pair.private), 'k', { name: alg, algorithm }, data)
        const read = await flattenedVerify({ ...ours, payload: data }, pair.public.key)
        assert.deepEqual(read.protectedHeader, { alg, kid: 'k' })

        const theirs = await new FlattenedSign(payload).setProtectedHeader({ alg }).sign(pair.private.key)
        const { protected: header = '', signature } = theirs
        const check = (head: string, body: string, text: string) =>
          jwsVerify(pair.public, algorithm, head, body, decodeBase64Url(text, 'signature'))
        assert.ok(await check(header, data, signature))
        assert.equal(await check(header, data, flipped(signature, at, bit)), false)
        assert.equal(await check(flipped(header, at, bit), data, signature), false)
        assert.equal(await check(header, `${data}AAAA`, signature), false)
        const bytes = decodeBase64Url(signature, 'signature')
        for (const wrong of [bytes.subarray(1), Buffer.concat([bytes, Buffer.alloc(1)]), Buffer.alloc(0)])
          assert.equal(await jwsVerify(pair.public, algorithm, header, data, wrong), false)
        for (const fill of [0, 1, 255])
          assert.equal(
            await jwsVerify(pair.public, algorithm, header, data, Buffer.alloc(bytes.length, fill)),
            false,
          )
      }),
      { numRuns: 8 },
    )
    await assert.rejects(jwsVerify(pair.private, algorithm, 'e30', '', Buffer.alloc(64)), {
      kind: 'crypto_failure',
    })
    await assert.rejects(
      async () => jwsSign(toDescribedKey(pair.public), 'k', { name: alg, algorithm }, ''),
      {
        kind: 'crypto_failure',
      },
    )
  })
}

test('MLDSA44: the jose library, which calls it ML-DSA-44, agrees both ways', async () => {
  const pair = await pairOf('MLDSA44')
  const algorithm = algorithmFor('signature', 'MLDSA44', policy)
  const payload = Buffer.from('post-quantum')
  const data = encodeBase64Url(payload)
  const theirs = await new FlattenedSign(payload)
    .setProtectedHeader({ alg: 'ML-DSA-44' })
    .sign(pair.private.key)
  const { protected: header = '', signature } = theirs
  const bytes = decodeBase64Url(signature, 'signature')
  assert.equal(bytes.length, 2420)
  assert.ok(await jwsVerify(pair.public, algorithm, header, data, bytes))
  for (const at of [0, 31, 32, 1000, 2335, 2419])
    assert.equal(
      await jwsVerify(pair.public, algorithm, header, data, decodeBase64Url(flipped(signature, at, 3), 's')),
      false,
    )
  assert.equal(await jwsVerify(pair.public, algorithm, header, data, bytes.subarray(1)), false)
  const input = Buffer.from(`${header}.${data}`)
  const ours = encodeBase64Url(await signed(algorithm, pair.private, input))
  await flattenedVerify({ protected: header, payload: data, signature: ours }, pair.public.key)
})

test('a signature of one algorithm, curve or key does not verify for another', async () => {
  const data = encodeBase64Url(Buffer.from('payload'))
  const made = await Promise.all(
    ['RS256', 'PS256', 'RS512', 'ES256', 'ES384', 'EdDSA'].map(async (alg) => {
      const pair = await pairOf(alg)
      const algorithm = algorithmFor('signature', alg, policy)
      const { signature } = await jwsSign(toDescribedKey(pair.private), 'k', { name: alg, algorithm }, data)
      return { alg, pair, algorithm, signature: decodeBase64Url(signature, 'signature') }
    }),
  )
  for (const one of made) {
    for (const other of made) {
      const act = () => jwsVerify(one.pair.public, other.algorithm, 'e30', data, one.signature)
      const sameType =
        one.pair.public.algorithm === other.algorithm.material &&
        one.pair.public.curve === other.pair.public.curve
      if (sameType) assert.equal(await act(), false)
      else await assert.rejects(act, { kind: 'crypto_failure' })
    }
  }
})

for (const alg of ['HS256', 'HS384', 'HS512']) {
  test(`${alg}: the jose library computes the same MAC, and no other verifies`, async () => {
    const { key } = await secretOf(alg)
    const { hash } = algorithmFor('mac', alg, policy)
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), fc.nat(), fc.nat(7), async (payload, at, bit) => {
        const theirs = await new FlattenedSign(payload).setProtectedHeader({ alg }).sign(key)
        const input = Buffer.from(`${theirs.protected}.${theirs.payload}`)
        const tag = decodeBase64Url(theirs.signature, 'signature')
        assert.deepEqual(hmacCompute(hash, key, input), tag)
        assert.ok(hmacVerify(hash, key, input, tag))
        assert.ok(!hmacVerify(hash, key, input, decodeBase64Url(flipped(theirs.signature, at, bit), 's')))
        for (const wrong of [tag.subarray(1), Buffer.concat([tag, Buffer.alloc(1)]), Buffer.alloc(0)])
          assert.ok(!hmacVerify(hash, key, input, wrong))
      }),
      { numRuns: 20 },
    )
  })
}

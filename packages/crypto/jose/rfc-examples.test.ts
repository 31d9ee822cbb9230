import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { thumbprint } from '@warder/server'
import { algorithmFor } from '../algorithms/algorithms.ts'
import { toDescribedKey } from '../backend/software.ts'
import { hmacCompute } from '../mac.ts'
import { type ImportMembers, importKey } from '../material/import-jwk.ts'
import { toKeySpec } from '../material/key-request.ts'
import type { KeyMaterial } from '../material/material.ts'
import { publicFromPrivate } from '../testing/material.ts'
import { decodeBase64Url } from './base64url.ts'
import { additionalData, ContentKeys, jweDecryptDirect, jweDecryptOaep, openNow } from './jwe-flattened.ts'
import { jwsVerify } from './jws-detached.ts'
import { hmacVerify, signed } from './testing/jose-samples.ts'

/** The examples of RFC 7515, 7516, 7520, 7638 and 8037 whose algorithms Warder has; `source` names the section. */
interface Examples {
  readonly jws: readonly {
    readonly source: string
    readonly alg: string
    readonly key: Jwk
    readonly protected: string
    readonly payload: string
    readonly signature: string
  }[]
  readonly jwe: readonly {
    readonly source: string
    readonly alg: string
    readonly enc: string
    readonly key: Jwk
    readonly plaintext: string
    readonly protected: string
    readonly encrypted_key: string
    readonly iv: string
    readonly ciphertext: string
    readonly tag: string
    readonly aad?: string
  }[]
  readonly thumbprints: readonly {
    readonly source: string
    readonly jwk: Readonly<Record<string, string>>
    readonly thumbprint: string
  }[]
}
type Jwk = Readonly<Record<string, string>> & { readonly kty: string; readonly crv?: string }

const examples: Examples = JSON.parse(readFileSync(new URL('./rfc-examples.json', import.meta.url), 'utf8'))
const policy = { fips: false }

/** The key by the way of an import request. */
async function imported({ kty, crv, ...members }: Jwk, alg: string): Promise<KeyMaterial> {
  const bytes = Object.entries(members).map(([name, text]) => [name, decodeBase64Url(text, name)] as const)
  return importKey(toKeySpec({ kty, alg, crv }, policy), Object.fromEntries(bytes) as ImportMembers)
}

/** PSS and ECDSA draw random numbers; the other signatures can be made again. */
const repeatable = ['HS256', 'RS256', 'EdDSA']

for (const { source, alg, key, protected: header, payload, signature } of examples.jws) {
  test(`${source} (${alg}): the signature verifies, is reproduced if deterministic, and no other verifies`, async () => {
    const material = await imported(key, alg)
    const bytes = decodeBase64Url(signature, 'signature')
    const spoilt = Buffer.from(bytes)
    spoilt.writeUInt8(spoilt.readUInt8(5) ^ 4, 5)
    const input = Buffer.from(`${header}.${payload}`)
    if (alg === 'HS256') {
      const { hash } = algorithmFor('mac', alg, policy)
      assert.deepEqual(hmacCompute(hash, material.key, input), bytes)
      assert.ok(hmacVerify(hash, material.key, input, bytes))
      assert.ok(!hmacVerify(hash, material.key, input, spoilt))
      return
    }
    const algorithm = algorithmFor('signature', alg, policy)
    const open = publicFromPrivate(material)
    assert.ok(await jwsVerify(open, algorithm, header, payload, bytes))
    assert.equal(await jwsVerify(open, algorithm, header, payload, spoilt), false)
    assert.equal(await jwsVerify(open, algorithm, header, `${payload}A`, bytes), false)
    if (repeatable.includes(alg)) assert.deepEqual(await signed(algorithm, material, input), bytes)
  })
}

for (const example of examples.jwe) {
  const { source, alg, enc, key, plaintext, protected: header, aad } = example
  test(`${source} (${alg}, ${enc}): the flattened JWE is decrypted`, async () => {
    const material = await imported(key, alg === 'dir' ? enc : alg)
    const encryption = algorithmFor('content encryption', enc, policy)
    const bytes = (name: 'encrypted_key' | 'iv' | 'ciphertext' | 'tag') =>
      decodeBase64Url(example[name], name)
    const sealed = {
      protected: header,
      iv: bytes('iv'),
      ciphertext: bytes('ciphertext'),
      tag: bytes('tag'),
      aad,
    }
    const opened =
      alg === 'dir'
        ? jweDecryptDirect(openNow, toDescribedKey(material), encryption, sealed)
        : await jweDecryptOaep(
            openNow,
            new ContentKeys(1),
            toDescribedKey(material),
            algorithmFor('key management', alg, policy),
            encryption,
            bytes('encrypted_key'),
            sealed,
          )
    assert.equal(opened.toString(), plaintext)
  })
}

test('the additional data is the protected header, and the aad behind a dot (RFC 7516 §5.1 step 14)', () => {
  assert.equal(additionalData('eyJ9', undefined).toString(), 'eyJ9')
  assert.equal(additionalData('eyJ9', 'YWFk').toString(), 'eyJ9.YWFk')
  assert.equal(additionalData('eyJ9', '').toString(), 'eyJ9')
})

for (const { source, jwk, thumbprint: expected } of examples.thumbprints) {
  test(`${source}: the thumbprint`, () => assert.equal(thumbprint(jwk), expected))
}

import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { gcmDecrypt } from './jose/testing/jose-samples.ts'
import { hmacCompute } from './mac.ts'
import { importKey } from './material/import-jwk.ts'
import { toKeySpec } from './material/key-request.ts'

const hex = (text: string) => Buffer.from(text, 'hex')
const policy = { fips: true }

const half = 'feffe9928665731c6d6a8f9467308308'
const message =
  'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39'
const iv = 'cafebabefacedbaddecaf888'
const aad = 'feedfacedeadbeeffeedfacedeadbeefabaddad2'

/** "The Galois/Counter Mode of Operation", appendix B, the cases with a 96-bit IV: the ones that NIST took over. */
const gcm = [
  {
    name: '1',
    key: '00'.repeat(16),
    iv: '00'.repeat(12),
    aad: '',
    plaintext: '',
    ciphertext: '',
    tag: '58e2fccefa7e3061367f1d57a4e7455a',
  },
  {
    name: '4',
    key: half,
    iv,
    aad,
    plaintext: message,
    ciphertext:
      '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091',
    tag: '5bc94fbc3221a5db94fae95ae7121a47',
  },
  {
    name: '7',
    key: '00'.repeat(24),
    iv: '00'.repeat(12),
    aad: '',
    plaintext: '',
    ciphertext: '',
    tag: 'cd33b28ac773f74ba00ed1f312572435',
  },
  {
    name: '10',
    key: half + half.slice(0, 16),
    iv,
    aad,
    plaintext: message,
    ciphertext:
      '3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710',
    tag: '2519498e80f1478f37ba55bd6d27618c',
  },
  {
    name: '13',
    key: '00'.repeat(32),
    iv: '00'.repeat(12),
    aad: '',
    plaintext: '',
    ciphertext: '',
    tag: '530f8afbc74536b9a963b4f1c4cb738b',
  },
  {
    name: '16',
    key: half + half,
    iv,
    aad,
    plaintext: message,
    ciphertext:
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662',
    tag: '76fc6ece0f4e1768cddf8853bb2d551b',
  },
]

for (const { name, key, iv, aad, plaintext, ciphertext, tag } of gcm) {
  test(`GCM test case ${name} is decrypted, and refused with another tag`, async () => {
    const alg = `A${key.length * 4}GCM`
    const material = await importKey(toKeySpec({ kty: 'oct', alg }, policy), { k: hex(key) })
    const sealed = { iv: hex(iv), ciphertext: hex(ciphertext), tag: hex(tag) }
    assert.equal(gcmDecrypt(material.key, sealed, hex(aad)).toString('hex'), plaintext)
    const wrong = Buffer.from(sealed.tag)
    wrong.writeUInt8(wrong.readUInt8(15) ^ 1, 15)
    assert.throws(() => gcmDecrypt(material.key, { ...sealed, tag: wrong }, hex(aad)), {
      kind: 'decryption_failed',
    })
  })
}

const longKey = Buffer.alloc(131, 0xaa)
/** RFC 4231; the keys of the other cases are shorter than Warder imports. */
const hmac = [
  {
    name: '4.3',
    key: Buffer.from('Jefe'),
    data: 'what do ya want for nothing?',
    sha256: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    sha384:
      'af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649',
    sha512:
      '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
  },
  {
    name: '4.7',
    key: longKey,
    data: 'Test Using Larger Than Block-Size Key - Hash Key First',
    sha256: '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    sha384:
      '4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952',
    sha512:
      '80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598',
  },
  {
    name: '4.8',
    key: longKey,
    data: 'This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.',
    sha256: '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
    sha384:
      '6617178e941f020d351e2f254e8fd32c602420feb0b8fb9adccebb82461e99c5a678cc31e799176d3860e6110c46523e',
    sha512:
      'e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58',
  },
]

for (const { name, key, data, ...tags } of hmac) {
  test(`RFC 4231 §${name}: HMAC`, async () => {
    for (const [hash, tag] of Object.entries(tags) as ['sha256' | 'sha384' | 'sha512', string][]) {
      const spec = toKeySpec({ kty: 'oct', alg: `HS${hash.slice(3)}` }, policy)
      const secret = key.length < 64 ? createSecretKey(key) : (await importKey(spec, { k: key })).key
      assert.equal(hmacCompute(hash, secret, Buffer.from(data)).toString('hex'), tag)
    }
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recommendedNames } from '@warder/crypto'
import { policyLists } from '@warder/crypto/settings'
import type { AlgorithmConfig } from './algorithm-settings.ts'
import { unknownNames } from './policy-names.ts'

type Lists = Partial<Record<(typeof policyLists)[number], readonly string[]>>

const configured = (lists: Lists, id: AlgorithmConfig['kmip.policy_id'] = 'CUSTOM'): AlgorithmConfig =>
  ({
    fips: false,
    'kmip.policy_id': id,
    ...Object.fromEntries(policyLists.map((list) => [`kmip.allowlists.${list}`, lists[list] ?? ['*']])),
  }) as AlgorithmConfig

test('names of JOSE and KMIP are known in any spelling, and so are the recommended ones', () => {
  assert.deepEqual(unknownNames(configured(recommendedNames)), [])
  const lists: Lists = {
    algorithms: [
      'AES',
      'ecdsa',
      'HMAC-SHA256',
      'hmac_sha512',
      'EC',
      'Ed25519',
      'ML-DSA-44',
      'ChaCha20Poly1305',
    ],
    hashes: ['sha256', 'SHA_512', 'SHA-1', 'SHA3-256'],
    signature_algorithms: ['RS256', 'SHA-256WithRSAEncryption', 'ECDSAWithSHA256', 'EdDSA', 'ML_DSA_65'],
    curves: ['P-256', 'p_384', 'SECP256K1', 'Curve25519'],
    block_cipher_modes: ['gcm', 'AES_KEY_WRAP_PADDING', 'NISTKeyWrap'],
    padding_methods: ['PKCS1v15', 'PKCS1 v1.5', 'oaep', 'None'],
    mgf_hashes: ['SHA-256'],
    mask_generators: ['mgf1'],
    rsa_key_sizes: ['3072'],
    aes_key_sizes: [],
  }
  assert.deepEqual(unknownNames(configured(lists)), [])
})

test('a misspelt name is reported with its list, but only if the lists apply', () => {
  const lists: Lists = { algorithms: ['ASE', '*', 'RSA'], hashes: ['SHA-257'], block_cipher_modes: ['GMC'] }
  assert.deepEqual(unknownNames(configured(lists)), [
    { list: 'algorithms', name: 'ASE' },
    { list: 'hashes', name: 'SHA-257' },
    { list: 'block_cipher_modes', name: 'GMC' },
  ])
  assert.deepEqual(unknownNames(configured(lists, 'NONE')), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Algorithm,
  algorithmFor,
  algorithms,
  canonicalName,
  optionalAlgorithms,
  toKeyOps,
} from './algorithms.ts'

/** The algorithms of the interface: name, use, whether FIPS builds have it. */
const rows: readonly (readonly [name: string, use: Algorithm['use'], fips: boolean])[] = [
  ['RSA-OAEP', 'key management', true],
  ['RSA-OAEP-256', 'key management', true],
  ['A128GCM', 'content encryption', true],
  ['A192GCM', 'content encryption', true],
  ['A256GCM', 'content encryption', true],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'].map(
    (name) => [name, 'signature', true] as const,
  ),
  ['EdDSA', 'signature', false],
  ['MLDSA44', 'signature', false],
  ['HS256', 'mac', true],
  ['HS384', 'mac', true],
  ['HS512', 'mac', true],
  ['ML-DSA-65', 'signature', false],
  ['ML-DSA-87', 'signature', false],
  ...['A192KW', 'A256KW', 'A128GCMKW', 'A192GCMKW', 'A256GCMKW'].map(
    (name) => [name, 'other key management', true] as const,
  ),
  ...['A128KW', 'A192KW', 'A256KW'].map((wrap) => [`ECDH-ES+${wrap}`, 'other key management', true] as const),
]
/** Those that a setting opens. */
const optional: typeof rows = [
  ['ES256K', 'signature', false],
  ['A128KW', 'other key management', true],
  ['ECDH-ES', 'other key management', true],
  ...[
    'ML-KEM-512',
    'ML-KEM-768',
    'ML-KEM-1024',
    'ML-KEM-512+A128KW',
    'ML-KEM-768+A192KW',
    'ML-KEM-1024+A256KW',
  ].map((name) => [name, 'other key management', false] as const),
]
const uses = ['signature', 'key management', 'other key management', 'content encryption', 'mac'] as const
const refusal = { kind: 'unsupported_algorithm', status: 422 }

test('the table holds the algorithms of the interface, the optional ones, and no other', () => {
  const known = [...rows, ...optional].map(([name]) => name)
  assert.deepEqual(Object.keys(algorithms).sort(), known.sort())
  assert.deepEqual([...optionalAlgorithms].sort(), optional.map(([name]) => name).sort())
  assert.ok(Object.isFrozen(algorithms))
})

test('each algorithm is found only for its own use, and in FIPS mode only if approved', () => {
  for (const [name, own, fips] of rows) {
    for (const use of uses) {
      if (use !== own) assert.throws(() => algorithmFor(use, name, { fips: false }), refusal)
      else assert.equal(algorithmFor(use, name, { fips: false }), algorithms[name])
      if (use !== own || !fips) assert.throws(() => algorithmFor(use, name, { fips: true }), refusal)
      else assert.equal(algorithmFor(use, name, { fips: true }), algorithms[name])
    }
  }
})

test('optional algorithms are available only with the setting, and in FIPS mode only if approved', () => {
  for (const [name, own, fips] of optional) {
    assert.throws(() => algorithmFor(own, name, { fips: false }), refusal)
    assert.throws(() => algorithmFor(own, name, { fips: false, opened: new Set(['other']) }), refusal)
    const opened = new Set([name])
    assert.equal(algorithmFor(own, name, { fips: false, opened }), algorithms[name])
    if (fips) assert.equal(algorithmFor(own, name, { fips: true, opened }), algorithms[name])
    else assert.throws(() => algorithmFor(own, name, { fips: true, opened }), refusal)
  }
})

test('hash, padding, curve and size belong to the name (RFC 7518 §3.1, §4.1, §5.1)', () => {
  for (const [name] of rows) {
    const found = algorithms[name]
    assert.ok(found !== undefined)
    const digits = name.replace(/\D/g, '')
    const plan = found.use === 'signature' ? found.plan : undefined
    const hash = plan !== undefined && 'hash' in plan ? plan.hash.node : 'hash' in found && found.hash
    if (/^[RPEH]S\d/.test(name)) assert.equal(hash, `sha${digits}`)
    if (name.startsWith('RS')) assert.equal(plan?.scheme, name.startsWith('RSA') ? undefined : 'pkcs1')
    if (name.startsWith('PS'))
      assert.partialDeepStrictEqual(plan, { scheme: 'pss', saltLength: Number(digits) / 8 })
    if (/^A\d+GCM$/.test(name)) assert.equal('bits' in found && found.bits, Number(digits))
  }
  assert.partialDeepStrictEqual(algorithms, {
    ES256: { curve: 'P-256', plan: { raw: true } },
    ES384: { curve: 'P-384', plan: { raw: true } },
    ES512: { curve: 'P-521', plan: { raw: true } },
    'RSA-OAEP': { oaepHash: 'SHA_1' },
    'RSA-OAEP-256': { oaepHash: 'SHA_256' },
  })
})

test('unknown names, also names of object members, are refused with one short sentence', () => {
  for (const name of [
    'none',
    'None',
    'dir',
    'A128KW',
    'RSA1_5',
    'rs256',
    'RS256\0',
    '',
    '__proto__',
    'constructor',
    'x'.repeat(100_000),
  ])
    for (const use of uses)
      assert.throws(
        () => algorithmFor(use, name, { fips: false }),
        (error: Error & { kind?: string }) =>
          error.kind === 'unsupported_algorithm' && error.message.length < 150,
      )
})

test('ML-DSA-44 is another name of MLDSA44', () => {
  assert.equal(canonicalName('ML-DSA-44'), 'MLDSA44')
  assert.equal(algorithmFor('signature', 'ML-DSA-44', { fips: false }), algorithms.MLDSA44)
  assert.throws(() => algorithmFor('signature', 'ML-DSA-44', { fips: true }), refusal)
})

test('key_ops follow the use', () => {
  for (const [name, use] of rows) {
    const signs = use === 'signature' || use === 'mac'
    assert.deepEqual(toKeyOps(name), signs ? ['sign', 'verify'] : ['encrypt', 'decrypt'])
  }
})

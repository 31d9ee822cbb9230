import assert from 'node:assert/strict'
import { createPrivateKey, generatePrimeSync, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { signed } from '../jose/testing/jose-samples.ts'
import { publicFromPrivate } from '../testing/material.ts'
import { generateKey } from './generate-key.ts'
import { type ImportMembers, importKey } from './import-jwk.ts'
import { type KeySpec, toKeySpec } from './key-request.ts'

type Members = { -readonly [Name in keyof ImportMembers]: Buffer }
const policy = { fips: false }
const spec = (kty: string, alg?: string, crv?: string): KeySpec => toKeySpec({ kty, alg, crv }, policy)
/** `importKey` throws at once or rejects, by the type of key; both are one to its callers. */
const attempt = async (wanted: KeySpec, members: ImportMembers) => importKey(wanted, members)
const refused = (wanted: KeySpec, members: ImportMembers, member: string) =>
  assert.rejects(attempt(wanted, members), { kind: 'bad_request', message: new RegExp(`^${member}: `) })

async function membersOf(wanted: KeySpec): Promise<Members> {
  const made = await generateKey(wanted)
  assert.ok('private' in made)
  const jwk = made.private.key.export({ format: 'jwk' }) as Record<string, string>
  const names = ['d', 'x', 'y', 'n', 'e', 'p', 'q', 'dp', 'dq', 'qi', 'priv', 'pub'].filter(
    (name) => name in jwk,
  )
  return Object.fromEntries(names.map((name) => [name, Buffer.from(jwk[name] as string, 'base64url')]))
}

const rsaSpec = spec('RSA')
const rsa = await membersOf(rsaSpec)
const number = (bytes: Buffer | undefined) => BigInt(`0x${(bytes ?? Buffer.alloc(1)).toString('hex')}`)
const bytes = (value: bigint) => {
  const text = value.toString(16)
  return Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex')
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n]
  while (a > 1n) [a, b, x, y] = [b % a, a, y - (b / a) * x, x]
  return ((x % modulus) + modulus) % modulus
}

/** All members of the key with these primes, right in themselves. */
function rsaOf(p: bigint, q: bigint, e = 65537n): Members {
  const d = inverse(e, (p - 1n) * (q - 1n))
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, bytes(value)]))
}

/** The first number made whose predecessor 65537 does not divide, so that e has an inverse. */
const invertible = (make: () => bigint): bigint => {
  const found = make()
  return found % 65537n === 1n ? invertible(make) : found
}
const prime = (bits: number) => invertible(() => generatePrimeSync(bits, { bigint: true }))

test('a key that was exported is imported and signs as before', async () => {
  for (const wanted of [
    rsaSpec,
    spec('EC', undefined, 'P-256'),
    spec('EC', 'ES384', 'P-384'),
    spec('EC', 'ES512', 'P-521'),
    spec('OKP'),
    spec('AKP', 'MLDSA44'),
  ]) {
    const members = await membersOf(wanted)
    const material = await importKey(wanted, members)
    const again = publicFromPrivate(material).key.export({ format: 'jwk' }) as Record<string, string>
    for (const name of ['n', 'e', 'x', 'y', 'pub'] as const)
      assert.equal(again[name], members[name]?.toString('base64url'))
  }
})

test('the caller may wipe the bytes of an import as soon as the call returns', async () => {
  const members = Object.fromEntries(Object.entries(rsa).map(([name, value]) => [name, Buffer.from(value)]))
  const pending = importKey(rsaSpec, members)
  for (const value of Object.values(members)) value.fill(0)
  const { key } = await pending
  assert.equal((key.export({ format: 'jwk' }) as { d: string }).d, rsa.d?.toString('base64url'))
})

test('leading zeros of RSA numbers are tolerated', async () => {
  const padded = Object.fromEntries(
    Object.entries(rsa).map(([name, value]) => [name, Buffer.concat([Buffer.alloc(3), value])]),
  )
  const { key, bits } = await importKey(rsaSpec, padded)
  assert.equal(bits, 2048)
  const text = Buffer.from('text')
  assert.deepEqual(
    sign('sha256', text, key),
    sign('sha256', text, createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' }))),
  )
})

test('each missing member of a private key is named', async () => {
  for (const name of Object.keys(rsa)) {
    const { [name as keyof Members]: _left, ...others } = rsa
    await refused(rsaSpec, others, name)
  }
  await refused(spec('EC', undefined, 'P-256'), {}, 'd')
  await refused(spec('OKP'), {}, 'd')
  await refused(spec('AKP'), {}, 'd')
  await refused(spec('oct', 'A128GCM'), {}, 'k')
})

test('members of another type of key are refused, not ignored', async () => {
  await refused(rsaSpec, { ...rsa, k: Buffer.alloc(16) }, 'k')
  await refused(spec('oct', 'HS256'), { k: Buffer.alloc(32), d: Buffer.alloc(32) }, 'd')
  await refused(
    spec('EC', undefined, 'P-256'),
    { ...(await membersOf(spec('EC', undefined, 'P-256'))), n: Buffer.alloc(1) },
    'n',
  )
  await refused(spec('OKP'), { ...(await membersOf(spec('OKP'))), y: Buffer.alloc(32) }, 'y')
  await refused(spec('AKP'), { d: Buffer.alloc(32), priv: Buffer.alloc(32) }, 'd')
})

test('inconsistent RSA numbers are refused, naming the wrong member', async () => {
  for (const name of ['d', 'dp', 'dq', 'qi', 'p', 'q'] as const) {
    for (const by of [1n, 2n, -1n, -2n])
      await refused(rsaSpec, { ...rsa, [name]: bytes(number(rsa[name]) + by) }, name === 'q' ? 'p' : name)
  }
  for (const name of Object.keys(rsa)) {
    await refused(rsaSpec, { ...rsa, [name]: Buffer.alloc(0) }, name)
    await refused(rsaSpec, { ...rsa, [name]: Buffer.alloc(256) }, '[a-z]+')
    await refused(rsaSpec, { ...rsa, [name]: Buffer.alloc(2000, 255) }, name)
  }
  const { p, q } = rsa
  assert.ok(p !== undefined && q !== undefined)
  await refused(rsaSpec, { ...rsa, p: q, q: p }, 'dp')
  const one = bytes(1n)
  await refused(rsaSpec, { ...rsa, p: one, q: bytes(number(rsa.n)) }, 'p')
})

test('a private exponent that matches only one prime, or is too long, is refused', async () => {
  const [n, d, p, q] = [rsa.n, rsa.d, rsa.p, rsa.q].map(number) as [bigint, bigint, bigint, bigint]
  const withD = (wrong: bigint) => ({
    ...rsa,
    d: bytes(wrong),
    dp: bytes(wrong % (p - 1n)),
    dq: bytes(wrong % (q - 1n)),
  })
  for (const shift of [p - 1n, q - 1n]) await refused(rsaSpec, withD(d > shift ? d - shift : d + shift), 'd')
  const long = d + 2n * (p - 1n) * (q - 1n)
  assert.ok(long >= n)
  await refused(rsaSpec, withD(long), 'd')
})

test('exponents that are even, 1 or enormous are refused', async () => {
  for (const e of [0n, 1n, 2n, 65536n, (1n << 64n) + 1n, number(rsa.n)])
    await refused(rsaSpec, { ...rsa, e: bytes(e) }, 'e')
  await refused(rsaSpec, { ...rsa, e: bytes(3n) }, 'd')
})

test('RSA keys that are too small or too large are refused', async () => {
  await refused(rsaSpec, rsaOf(prime(512), prime(512)), 'n')
  await refused(rsaSpec, rsaOf(prime(1023), prime(1024)), 'n')
  const huge = rsaOf(prime(1024), prime(1024))
  await refused(rsaSpec, { ...huge, n: bytes((1n << 8192n) + 1n) }, 'n')
})

test('RSA keys that are easy to factor are refused although their numbers agree', async () => {
  const p = prime(1024)
  await refused(rsaSpec, rsaOf(prime(64), prime(1990)), 'p')
  let at = p + 2n ** 600n
  const near = invertible(() => {
    at += 2n
    return at
  })
  await refused(rsaSpec, rsaOf(p, near), 'p')
  await refused(rsaSpec, rsaOf(p, p), 'p')
})

test('a modulus of the flawed Infineon generator is refused (CVE-2017-15361)', async () => {
  const small = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
    107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
  ]
  const product = small.reduce((all, one) => all * BigInt(one), 1n)
  const flawed = () => generatePrimeSync(1040, { add: product, rem: 65537n ** 5n % product, bigint: true })
  await assert.rejects(attempt(rsaSpec, rsaOf(flawed(), flawed(), 3n)), { message: /CVE-2017-15361/ })
})

test('composite numbers instead of primes are refused although everything else agrees', async () => {
  const composite = () => invertible(() => prime(512) * prime(512))
  await refused(rsaSpec, rsaOf(composite(), prime(1030)), 'p')
  await refused(rsaSpec, rsaOf(prime(1030), composite()), 'q')
})

test('EC scalars out of range or of another length, and points of other keys, are refused', async () => {
  for (const [curve, size, order] of [
    ['P-256', 32, 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'],
    [
      'P-384',
      48,
      'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
    ],
    [
      'P-521',
      66,
      '01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
    ],
  ] as const) {
    const wanted = spec('EC', undefined, curve)
    const members = await membersOf(wanted)
    const { d, x, y } = members
    assert.ok(d !== undefined && x !== undefined && y !== undefined)
    assert.equal((await importKey(wanted, { d })).curve, curve)
    for (const wrong of [
      Buffer.alloc(size),
      Buffer.from(order, 'hex'),
      Buffer.alloc(size, 255),
      d.subarray(1),
      Buffer.concat([Buffer.alloc(1), d]),
      Buffer.alloc(0),
    ])
      await refused(wanted, { d: wrong }, 'd')
    const offCurve = Buffer.from(y)
    offCurve.writeUInt8(offCurve.readUInt8(size - 1) ^ 1, size - 1)
    const another = await membersOf(wanted)
    await refused(wanted, { d, x, y: offCurve }, 'y')
    await refused(wanted, { d, x: y, y: x }, 'x')
    await refused(wanted, { d, x: another.x as Buffer, y: another.y as Buffer }, 'x')
    await refused(wanted, { d, x: x.subarray(1), y }, 'x')
    await refused(wanted, { d, x: Buffer.concat([Buffer.alloc(1), x]), y }, 'x')
    const before = Buffer.from(order, 'hex')
    before.writeUInt8(before.readUInt8(size - 1) - 1, size - 1)
    assert.equal((await importKey(wanted, { d: before })).bits, Number(curve.slice(2)))
  }
})

test('Ed25519 and ML-DSA-44 take a seed of 32 bytes and the public key that is its own', async () => {
  for (const [wanted, secret, open] of [
    [spec('OKP'), 'd', 'x'],
    [spec('AKP'), 'priv', 'pub'],
    [spec('OKP', 'MLDSA44'), 'd', 'x'],
  ] as const) {
    const exported = await membersOf(wanted)
    const seed = exported[secret] ?? exported.priv
    const own = exported[open] ?? exported.pub
    assert.ok(seed !== undefined && own !== undefined)
    await importKey(wanted, { [secret]: seed, [open]: own })
    await importKey(wanted, { [secret]: seed })
    for (const size of [0, 31, 33, 64, 2560]) await refused(wanted, { [secret]: Buffer.alloc(size) }, secret)
    const another = Buffer.from(own)
    another.writeUInt8(another.readUInt8(0) ^ 1, 0)
    for (const wrong of [another, own.subarray(1), Buffer.alloc(0)])
      await refused(wanted, { [secret]: seed, [open]: wrong }, open)
  }
})

test('a symmetric key has exactly the length of its algorithm; an HMAC key from the hash length to 4096 bytes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('A128GCM', 'A192GCM', 'A256GCM', 'HS256', 'HS384', 'HS512'),
      fc.oneof(fc.constantFrom(0, 15, 16, 24, 31, 32, 33, 47, 48, 63, 64, 4096, 4097, 8192), fc.nat(5000)),
      async (alg, size) => {
        const bits = Number(alg.replace(/\D/g, ''))
        const fits = alg.startsWith('A') ? size * 8 === bits : size * 8 >= bits && size <= 4096
        const act = () => importKey(spec('oct', alg), { k: Buffer.alloc(size, 1) })
        if (fits) {
          const material = await act()
          assert.ok('bits' in material)
          assert.equal(material.bits, size * 8)
        } else await assert.rejects(act, { kind: 'bad_request', message: /^k: / })
      },
    ),
  )
})

test('property: an import of any bytes throws only bad_request', async () => {
  const some = fc.uint8Array({ maxLength: 300 })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        rsaSpec,
        spec('EC', undefined, 'P-256'),
        spec('OKP'),
        spec('AKP'),
        spec('oct', 'HS256'),
      ),
      fc.record(
        { k: some, d: some, x: some, y: some, n: some, e: some, p: some, q: some, priv: some, pub: some },
        { requiredKeys: [] },
      ),
      async (wanted, members) => {
        await attempt(wanted, members).catch((error: unknown) => {
          assert.equal((error as { kind?: string }).kind, 'bad_request')
        })
      },
    ),
    { numRuns: 200 },
  )
})

test('an imported EdDSA key signs as the seed demands', async () => {
  const members = await membersOf(spec('OKP'))
  const { d } = members
  assert.ok(d !== undefined)
  const material = await importKey(spec('OKP', 'EdDSA'), { d })
  const algorithm = {
    kty: 'OKP',
    material: 'Ed25519',
    fips: false,
    use: 'signature',
    plan: { scheme: 'pure' },
  } as const
  const [one, two] = [await signed(algorithm, material, d), await signed(algorithm, material, d)]
  assert.deepEqual(one, two)
})

test('an RSA key of n, e and d alone is completed; a part of the other members is refused', async () => {
  const { n, e, d } = rsa
  const short = { n, e, d } as Members
  const { key } = await importKey(rsaSpec, short)
  const jwk = key.export({ format: 'jwk' }) as Record<string, string>
  assert.equal(jwk.d, rsa.d?.toString('base64url'))
  assert.equal(
    number(Buffer.from(String(jwk.p), 'base64url')) * number(Buffer.from(String(jwk.q), 'base64url')),
    number(n),
  )
  await refused(rsaSpec, { ...short, p: rsa.p } as Members, 'q')
  const wrong = { ...short, d: bytes(number(d) + 2n) } as Members
  await assert.rejects(attempt(rsaSpec, wrong), { kind: 'bad_request' })
  await assert.rejects(attempt(rsaSpec, { ...short, n: Buffer.from([15]) } as Members), {
    kind: 'bad_request',
  })
  await assert.rejects(attempt(rsaSpec, { ...short, e: Buffer.from([0]) } as Members), {
    kind: 'bad_request',
  })
})

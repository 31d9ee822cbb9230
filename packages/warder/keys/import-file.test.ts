import assert from 'node:assert/strict'
import {
  createCipheriv,
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  pbkdf2Sync,
  randomBytes,
} from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readSecretFile, readTokenFile } from '@warder/command-line/files'
import { derNull, derSequence } from '@warder/pki'
import {
  derNumber,
  derObjectIdentifier,
  derOctets,
  missingOpenssl,
  modernFile,
  opensslFolder,
} from '@warder/pki/testing'
import { buildImportRequest, readKeyFile } from './import-file.ts'
import { requireOwnHalfInside } from './pem.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-import-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const file = (content: string | Uint8Array): string => {
  const name = join(folder, createHash('sha256').update(content).digest('hex').slice(0, 16))
  writeFileSync(name, content)
  return name
}
const options = { alg: undefined, tags: [], notExtractable: false, passphrase: () => 'secret' }
const read = (content: string | Uint8Array, alg?: string) => {
  const name = file(content)
  return buildImportRequest(name, readKeyFile(name), { ...options, alg })
}
const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8') =>
  key.export({ format: 'pem', type: type as 'pkcs8' }).toString()

test('a key file is read with a byte order mark, text before the key, CRLF, or as DER', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const jwk = ec.export({ format: 'jwk' })
  const text = pem(ec)
  for (const content of [
    text,
    `\ufeff${text}`,
    `Bag Attributes\n    friendlyName: x\nKey Attributes: <No Attributes>\n${text}`,
    text.replaceAll('\n', '\r\n'),
    `\ufeffsubject=CN=x\r\n${text.replaceAll('\n', '\r\n')}\r\n\r\n`,
    pem(ec, 'sec1'),
    ec.export({ format: 'der', type: 'pkcs8' }),
    ec.export({ format: 'der', type: 'sec1' }),
    `\ufeff${JSON.stringify(jwk)}\r\n`,
  ])
    assert.equal((read(content) as { d?: string }).d, jwk.d)
  for (const type of ['pkcs8', 'pkcs1'] as const)
    assert.equal(
      (read(rsa.export({ format: 'der', type })) as { d?: string }).d,
      rsa.export({ format: 'jwk' }).d,
    )
  const locked = { format: 'der', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'secret' } as const
  assert.equal((read(ec.export(locked)) as { d?: string }).d, jwk.d)
})

test('secrets and tokens are read with a byte order mark and a line end', () => {
  assert.equal(readSecretFile(file('\ufeffpass word\r\n')), 'pass word')
  assert.equal(readTokenFile(file('\ufeffabc.def\n')), 'abc.def')
})

test('a key that is no import is named for what it is', () => {
  for (const [content, told] of [
    [
      '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n',
      /OpenSSH.*ssh-keygen/,
    ],
    ['PuTTY-User-Key-File-3: ssh-ed25519\n', /PuTTY/],
    [JSON.stringify({ kty: 'RSA', n: 'AQ', e: 'AQ', d: 'AQ', oth: [] }), /more than two primes/],
  ] as const)
    assert.throws(() => read(content), { message: told })
})

test('an RSA key of three primes is named', { skip: missingOpenssl }, () => {
  using openssl = opensslFolder()
  const made = openssl.run(
    'genpkey',
    '-algorithm',
    'RSA',
    '-pkeyopt',
    'rsa_keygen_bits:2048',
    '-pkeyopt',
    'rsa_keygen_primes:3',
    '-out',
    'k.pem',
  )
  assert.equal(made.status, 0, made.text)
  assert.throws(() => read(made.file('k.pem')), { message: /more than two primes/ })
})

test('a key of id-RSASSA-PSS is imported for the algorithm that its parameters leave', () => {
  const make = (hash?: string, saltLength?: number) =>
    (generateKeyPairSync as unknown as (type: string, options: object) => { privateKey: KeyObject })(
      'rsa-pss',
      {
        modulusLength: 2048,
        ...(hash && { hashAlgorithm: hash, mgf1HashAlgorithm: hash, saltLength }),
      },
    ).privateKey
  const bound = pem(make('sha384', 48))
  const made = read(bound) as { alg?: string; kty: string; d?: string }
  assert.deepEqual([made.kty, made.alg, typeof made.d], ['RSA', 'PS384', 'string'])
  assert.equal((read(bound, 'PS384') as { alg?: string }).alg, 'PS384')
  for (const alg of ['PS256', 'RS256', 'RSA-OAEP-256'])
    assert.throws(() => read(bound, alg), { message: /RSASSA-PSS only: use --alg PS384/ })
  const open = pem(make())
  assert.equal((read(open, 'PS512') as { alg?: string }).alg, 'PS512')
  for (const alg of [undefined, 'RS256'])
    assert.throws(() => read(open, alg), { message: /use --alg PS256, PS384, PS512/ })
  assert.throws(() => read(pem(make('sha256', 64))), { message: /do not match PS256/ })
})

/** OneAsymmetricKey (RFC 5958 §2) of Ed25519 with a public key beside it. */
const version2 = (seed: KeyObject, open: KeyObject): Buffer => {
  const raw = Buffer.from(String(seed.export({ format: 'jwk' }).d), 'base64url')
  const half = Buffer.from(String(open.export({ format: 'jwk' }).x), 'base64url')
  const parts = [
    Buffer.from('020101300506032b6570', 'hex'),
    Buffer.from('04220420', 'hex'),
    raw,
    Buffer.from('812100', 'hex'),
    half,
  ]
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([0x30, body.length]), body])
}

test('a PKCS#8 key of version 2 has its own public half', () => {
  const [one, other] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]
  const armoured = (der: Buffer) =>
    `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`
  assert.ok(createPrivateKey({ key: version2(one, one), format: 'der', type: 'pkcs8' }))
  assert.equal((read(armoured(version2(one, one))) as { d?: string }).d, one.export({ format: 'jwk' }).d)
  assert.throws(() => read(armoured(version2(one, other))), { message: /does not match the private key/ })
  assert.throws(() => read(version2(one, other)), { message: /does not match the private key/ })
})

test('a PKCS#12 file is refused with its name and what to do', () => {
  const name = file(modernFile)
  assert.throws(() => read(modernFile), {
    name: 'FileRefused',
    message: `${name}: It is a PKCS#12 file: convert it with \`openssl pkcs12 -in FILE -nodes -out FILE.pem\`, and use FILE.pem.`,
  })
})

/** EncryptedPrivateKeyInfo (RFC 5958 §3) by PBES2, PBKDF2 with SHA-256 and AES-256-CBC (RFC 8018 §6.2). */
function encrypted(pkcs8: Uint8Array, passphrase: string): string {
  const [salt, iv] = [randomBytes(16), randomBytes(16)]
  const cipher = createCipheriv('aes-256-cbc', pbkdf2Sync(passphrase, salt, 2048, 32, 'sha256'), iv)
  const data = Buffer.concat([cipher.update(pkcs8), cipher.final()])
  const derivation = derSequence(
    derObjectIdentifier('1.2.840.113549.1.5.12'),
    derSequence(
      derOctets(salt),
      derNumber(2048),
      derSequence(derObjectIdentifier('1.2.840.113549.2.9'), derNull),
    ),
  )
  const scheme = derSequence(derObjectIdentifier('2.16.840.1.101.3.4.1.42'), derOctets(iv))
  const algorithm = derSequence(derObjectIdentifier('1.2.840.113549.1.5.13'), derSequence(derivation, scheme))
  const base64 = derSequence(algorithm, derOctets(data)).toString('base64')
  return `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${base64}\n-----END ENCRYPTED PRIVATE KEY-----\n`
}

test('an encrypted PKCS#8 key of version 2 has its own public half', async () => {
  const [one, other] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]
  const check = (pkcs8: Uint8Array) =>
    requireOwnHalfInside('k.pem', encrypted(pkcs8, 'secret'), () => 'secret')
  assert.equal(
    (read(encrypted(version2(one, one), 'secret')) as { d?: string }).d,
    one.export({ format: 'jwk' }).d,
  )
  await check(version2(one, one))
  await check(one.export({ format: 'der', type: 'pkcs8' }))
  await assert.rejects(check(version2(one, other)), {
    name: 'StartupError',
    message: /^k\.pem: .*does not match the private key/,
  })
  // A key in clear needs no passphrase: it is checked where it is read.
  await requireOwnHalfInside('k.pem', pem(one), () => assert.fail('asked'))
})

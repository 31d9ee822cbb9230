import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHmac, createPrivateKey, pbkdf2Sync, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { derMembers, derNull, derNumber, derObjectIdentifier, derOctets, derSequence } from '../der.ts'
import { PkiError } from '../error.ts'
import { missingOpenssl } from '../testing/openssl.ts'
import { legacyFile, modernFile } from '../testing/pkcs12-files.ts'
import { readPkcs12Pair } from './pair.ts'
import { readData } from './read.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-p12-'))
after(() => rmSync(folder, { recursive: true }))

function run(program: string, ...words: readonly string[]): void {
  const { status, stderr, stdout } = spawnSync(program, words, { cwd: folder, encoding: 'utf8' })
  assert.equal(status, 0, `${program} ${words.join(' ')}\n${stdout}${stderr}`)
}
const isMissing = (program: string, option: string): string | false =>
  spawnSync(program, [option]).error === undefined ? false : `the program ${program} is not installed`
const file = (name: string): Buffer => readFileSync(join(folder, name))
const skip = missingOpenssl

/** A key and a certificate: `NAME.key`, `NAME.crt`; issued by `issuer`, or self-signed. */
function certify(name: string, algorithm: readonly string[], issuer?: string): void {
  run('openssl', 'genpkey', ...algorithm, '-out', `${name}.key`)
  const more = issuer === undefined ? [] : ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`]
  const basic = ['-addext', `basicConstraints=critical,CA:${name.includes('leaf') ? 'FALSE' : 'TRUE'}`]
  const subject = ['-subj', `/CN=${name}`, '-days', '30']
  run(
    'openssl',
    'req',
    '-x509',
    '-new',
    '-key',
    `${name}.key`,
    ...subject,
    ...basic,
    ...more,
    '-out',
    `${name}.crt`,
  )
}
const ec = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']
const exportFile = (name: string, ...words: readonly string[]): Buffer => {
  run('openssl', 'pkcs12', '-export', '-out', name, '-passout', 'pass:secret', ...words)
  return file(name)
}
const subjects = (cert: string): string[] =>
  (cert.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map(
    (pem) => /CN=(.*)/.exec(new X509Certificate(pem).subject)?.[1] ?? '',
  )
const refuse = (bytes: Uint8Array, password: string, code: string, message = /./): void =>
  assert.throws(
    () => readPkcs12Pair(bytes, password),
    (error: unknown) => {
      assert.ok(error instanceof PkiError, String(error))
      assert.equal(error.code, code, error.message)
      assert.match(error.message, message)
      return true
    },
  )

for (const [type, algorithm] of [
  ['ec', ec],
  ['ed25519', ['-algorithm', 'ed25519']],
  ['rsa', ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048']],
] as const)
  test(`a file of OpenSSL with a key of type ${type} gives its certificate and its key`, { skip }, () => {
    certify(`${type} leaf`, algorithm)
    const { cert, key } = readPkcs12Pair(
      exportFile(`${type}.p12`, '-in', `${type} leaf.crt`, '-inkey', `${type} leaf.key`),
      'secret',
    )
    assert.equal(cert, new X509Certificate(file(`${type} leaf.crt`)).toString())
    assert.equal(createPrivateKey(key).asymmetricKeyType, type)
    assert.ok(createPrivateKey(key).equals(createPrivateKey(file(`${type} leaf.key`))))
  })

test('the certificate of the key comes first, then its issuers; roots and strangers are left out', {
  skip,
}, () => {
  certify('root', ec)
  certify('upper', ec, 'root')
  certify('lower', ec, 'upper')
  certify('chain leaf', ec, 'lower')
  certify('stranger', ec)
  const all = ['root', 'stranger', 'upper', 'chain leaf', 'lower'].map((name) => String(file(`${name}.crt`)))
  writeFileSync(join(folder, 'all.pem'), all.join(''))
  const made = exportFile('chain.p12', '-in', 'all.pem', '-inkey', 'chain leaf.key')
  assert.deepEqual(subjects(readPkcs12Pair(made, 'secret').cert), ['chain leaf', 'lower', 'upper'])
})

test('a password that does not open the file is wrong, whatever it contains', { skip }, () => {
  certify('password leaf', ec)
  const pair = ['-in', 'password leaf.crt', '-inkey', 'password leaf.key']
  const made = exportFile('password.p12', ...pair)
  for (const password of ['', 'Secret', 'secret\0', 'secrets']) refuse(made, password, 'wrong_password')
  run('openssl', 'pkcs12', '-export', '-out', 'empty.p12', '-passout', 'pass:', ...pair)
  assert.match(readPkcs12Pair(file('empty.p12'), '').key, /PRIVATE KEY/)
  assert.match(readPkcs12Pair(modernFile, 'pässwörd').key, /PRIVATE KEY/)
})

test('files with RC2, 3DES or a MAC by SHA-1 are refused with the commands that convert them', {
  skip,
}, () => {
  certify('legacy leaf', ec)
  const pair = ['-in', 'legacy leaf.crt', '-inkey', 'legacy leaf.key']
  const told = /RC2, 3DES or a MAC by SHA-1\. Convert it with `openssl pkcs12 -legacy -in FILE/
  for (const [name, ...words] of [
    ['rc2', '-legacy', '-macalg', 'sha256'],
    ['3des', '-keypbe', 'PBE-SHA1-3DES', '-certpbe', 'PBE-SHA1-3DES', '-macalg', 'sha256'],
    ['3des-key', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha256'],
    ['pbes2-3des', '-keypbe', 'des-ede3-cbc', '-certpbe', 'des-ede3-cbc', '-macalg', 'sha256'],
    ['mac', '-macalg', 'sha1'],
  ] as const)
    refuse(exportFile(`${name}.p12`, ...pair, ...words), 'secret', 'unsupported_protection', told)
  refuse(legacyFile, 'secret', 'unsupported_protection', told)
  // As the message says.
  run('openssl', 'pkcs12', '-legacy', '-in', 'rc2.p12', '-nodes', '-passin', 'pass:secret', '-out', 'rc2.pem')
  assert.match(readPkcs12Pair(exportFile('converted.p12', '-in', 'rc2.pem'), 'secret').key, /PRIVATE KEY/)
})

test('a file without a key, certificate or MAC is refused', { skip }, () => {
  certify('part leaf', ec)
  const key = ['-inkey', 'part leaf.key']
  refuse(exportFile('no-key.p12', '-nokeys', '-in', 'part leaf.crt'), 'secret', 'malformed', /no private key/)
  const keyOnly = exportFile('no-cert.p12', '-nocerts', ...key)
  refuse(keyOnly, 'secret', 'malformed', /no certificate of its private key/)
  const unsealed = exportFile('no-mac.p12', '-nomac', '-in', 'part leaf.crt', ...key)
  refuse(unsealed, 'secret', 'malformed', /has no MAC/)
})

test('a MAC by PBMAC1 (RFC 9579) is verified', { skip }, () => {
  certify('pbmac1 leaf', ec)
  const made = exportFile('plain.p12', '-in', 'pbmac1 leaf.crt', '-inkey', 'pbmac1 leaf.key')
  const [version, safe] = derMembers(made, 'test')
  assert.ok(version && safe)
  const salt = Buffer.alloc(8, 1)
  const hmac = derSequence(derObjectIdentifier('1.2.840.113549.2.9'), derNull)
  const derivation = derSequence(
    derObjectIdentifier('1.2.840.113549.1.5.12'),
    derSequence(derOctets(salt), derNumber(2048), derNumber(32), hmac),
  )
  const algorithm = derSequence(derObjectIdentifier('1.2.840.113549.1.5.14'), derSequence(derivation, hmac))
  const withMac = (password: string): Buffer => {
    const mac = createHmac('sha256', pbkdf2Sync(password, salt, 2048, 32, 'sha256')).update(readData(safe))
    const data = derSequence(derSequence(algorithm, derOctets(mac.digest())), derOctets(salt), derNumber(1))
    return derSequence(version.whole, safe.whole, data)
  }
  assert.match(readPkcs12Pair(withMac('secret'), 'secret').key, /PRIVATE KEY/)
  refuse(withMac('other'), 'secret', 'wrong_password')
})

test('files of Java are read, and those with several keys refused', {
  skip: isMissing('keytool', '-help'),
}, () => {
  const keytool = (store: string, alias: string, ...words: readonly string[]): void => {
    const to = ['-keystore', store, '-storetype', 'PKCS12', '-storepass', 'secret']
    const key = ['-keyalg', 'EC', '-groupname', 'secp256r1', '-dname', `CN=${alias}`]
    run('keytool', ...words, '-genkeypair', '-alias', alias, ...key, ...to)
  }
  keytool('java.p12', 'server')
  assert.deepEqual(subjects(readPkcs12Pair(file('java.p12'), 'secret').cert), ['server'])
  keytool('java.p12', 'another')
  refuse(file('java.p12'), 'secret', 'malformed', /contains 2 private keys: .*keytool/)
  keytool('old.p12', 'server', '-J-Dkeystore.pkcs12.legacy')
  refuse(file('old.p12'), 'secret', 'unsupported_protection', /openssl pkcs12 -legacy/)
})

test('files of GnuTLS are read', { skip: skip === false ? isMissing('certtool', '--version') : skip }, () => {
  certify('gnutls leaf', ec)
  const pair = ['--load-privkey', 'gnutls leaf.key', '--load-certificate', 'gnutls leaf.crt']
  const words = ['--to-p12', '--outder', '--p12-name', 'x', '--password', 'secret', '--hash', 'sha256']
  run('certtool', ...words, '--pkcs-cipher', 'aes-256', ...pair, '--outfile', 'gnutls.p12')
  assert.deepEqual(subjects(readPkcs12Pair(file('gnutls.p12'), 'secret').cert), ['gnutls leaf'])
})

test('a damaged file is refused, and never read in part', () => {
  const whole = readPkcs12Pair(modernFile, 'pässwörd')
  fc.assert(
    fc.property(
      fc.nat(modernFile.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      (at, bits, cut) => {
        const bytes = Buffer.from(cut ? modernFile.subarray(0, at) : modernFile)
        if (!cut) bytes[at] = (bytes[at] ?? 0) ^ bits
        try {
          // A change of some bytes in the parameters of the MAC has no effect.
          assert.deepEqual(readPkcs12Pair(bytes, 'pässwörd'), whole)
          assert.ok(!cut)
        } catch (error) {
          assert.ok(error instanceof PkiError, String(error))
        }
      },
    ),
    { numRuns: 300 },
  )
})

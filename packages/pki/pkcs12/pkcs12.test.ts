import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createSecureContext } from 'node:tls'
import { derElements, derNumber, derObjectIdentifier, derOctets, derSequence } from '../der.ts'
import { PkiError } from '../error.ts'
import { legacyFile, modernFile } from '../testing/pkcs12-files.ts'
import { nameFromParts } from '../x509/distinguished-name.ts'
import { basicConstraints } from '../x509/extensions.ts'
import { issueCertificate } from '../x509/issue.ts'
import { unprotect } from './encryption.ts'
import { sha1 } from './identifiers.ts'
import { pkcs12Key, purpose } from './password.ts'
import { readPkcs12 } from './read.ts'
import { writePkcs12 } from './write.ts'

test('files of OpenSSL are read, new and old formats', async () => {
  for (const [file, password, name] of [
    [modernFile, 'pässwörd', 'Schlüssel'],
    [legacyFile, 'secret', 'old'],
  ] as const) {
    const { privateKey, friendlyName, certificates } = await readPkcs12(file, password)
    assert.equal(friendlyName, name)
    assert.equal(certificates.length, 1)
    const [certificate] = certificates
    assert.ok(certificate)
    const key = createPrivateKey({ key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' })
    assert.ok(new X509Certificate(certificate).checkPrivateKey(key))
  }
})

test('written files are readable by OpenSSL and by this implementation, only with the password', async () => {
  const { privateKey, certificates } = await readPkcs12(modernFile, 'pässwörd')
  for (const legacy of [false, true]) {
    for (const kept of [certificates, [], [...certificates, ...certificates]]) {
      const content = { privateKey, certificates: kept, friendlyName: legacy ? undefined : 'Name ✓' }
      const file = await writePkcs12(content, 'geheim ✓', { legacy })
      // OpenSSL reads files with SHA-1 and 3DES only with its legacy provider, which is built into Node.
      if (kept.length > 0) createSecureContext({ pfx: file, passphrase: 'geheim ✓' })
      assert.throws(() => createSecureContext({ pfx: file, passphrase: 'wrong' }))
      const again = await readPkcs12(file, 'geheim ✓')
      assert.deepEqual(
        {
          ...again,
          privateKey: Buffer.from(again.privateKey),
          certificates: again.certificates.map((der) => Buffer.from(der)),
        },
        {
          ...content,
          privateKey: Buffer.from(privateKey),
          certificates: kept.map((der) => Buffer.from(der)),
        },
      )
      for (const password of ['', 'geheim', 'Geheim ✓'])
        await assert.rejects(readPkcs12(file, password), { code: 'wrong_password' })
    }
  }
})

test('the derivation is that of RFC 7292 §B', async () => {
  // Known answer from the PKCS#12 tests of Bouncy Castle and OpenSSL: password "smeg".
  const salt = Buffer.from('0a58cf64530d823f', 'hex')
  assert.equal(
    (await pkcs12Key('smeg', salt, 1, 24, purpose.key, sha1)).toString('hex'),
    '8aaae6297b6cb04642ab5b077851284eb7128f1a2a7fbca3',
  )
  assert.equal((await pkcs12Key('smeg', salt, 1, 8, purpose.iv, sha1)).toString('hex'), '79993dfe048d3b76')
})

test('modified, truncated and forged files are refused with a reason', async () => {
  for (let at = 0; at < modernFile.length; at += 23) {
    const changed = Buffer.from(modernFile)
    changed[at] = (changed[at] ?? 0) ^ 0x11
    for (const file of [changed, modernFile.subarray(0, at)]) {
      await assert.rejects(
        readPkcs12(file, 'pässwörd'),
        (error: unknown) =>
          error instanceof PkiError &&
          ['malformed', 'wrong_password', 'unsupported_protection'].includes(error.code),
      )
    }
  }
  await assert.rejects(readPkcs12(derSequence(derNumber(3), derOctets(Buffer.alloc(4))), 'x'), {
    code: 'malformed',
  })
})

test('a file that requires hours of work is refused immediately', async () => {
  await assert.rejects(pkcs12Key('x', Buffer.alloc(8), 1 << 30, 20, purpose.mac, sha1), {
    code: 'malformed',
  })
  await assert.rejects(pkcs12Key('x', Buffer.alloc(1 << 20), 1, 20, purpose.mac, sha1), {
    code: 'malformed',
  })
})

test('keys of every algorithm are supported', async () => {
  for (const type of ['ed25519', 'ml-dsa-44'] as const) {
    const { privateKey } = generateKeyPairSync(type as 'ed25519')
    const der = privateKey.export({ format: 'der', type: 'pkcs8' })
    const content = { privateKey: der, certificates: [], friendlyName: undefined }
    const file = await writePkcs12(content, 'p', { legacy: false })
    assert.ok(Buffer.from((await readPkcs12(file, 'p')).privateKey).equals(der))
  }
})

test('regression: a chain of more than 64 KiB, two certificates that SLH-DSA signed, is written as DER', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('slh-dsa-sha2-256f' as 'ed25519')
  const name = nameFromParts([['CN', 'root']])
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const root = await issueCertificate(
    { subject: name, spki, notBefore: 0, notAfter: 1, extensions: [basicConstraints(true)] },
    { name, key: privateKey, spki, keyIdentifier: undefined },
  )
  const key = privateKey.export({ format: 'der', type: 'pkcs8' })
  const file = await writePkcs12(
    { privateKey: key, certificates: [root, root], friendlyName: undefined },
    'p',
    {
      legacy: false,
    },
  )
  assert.ok(file.length > 65_536)
  assert.equal((await readPkcs12(file, 'p')).certificates.length, 2)
})

test('a file with RC2 gets an error that names RC2', async () => {
  for (const last of [5, 6]) {
    const scheme = derObjectIdentifier(`1.2.840.113549.1.12.1.${last}`)
    const [algorithm] = derElements(
      derSequence(scheme, derSequence(derOctets(Buffer.alloc(8)), derNumber(2048))),
      'test',
    )
    await assert.rejects(unprotect('secret', algorithm, Buffer.alloc(8)), {
      code: 'unsupported_protection',
      message: /RC2/,
    })
  }
})
